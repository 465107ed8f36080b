"""Jobs that are suspended while they run. A wish records it until they continue or end, so the next host knows too."""

from __future__ import annotations

from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.attempts.events import EventStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.jobs.attempt import LiveAttempt

_SQL = load_queries("suspension")
_SUSPENDED, _BY_ITSELF = "suspended", "by-itself"


class SuspensionStore:
    def __init__(self, database: Database, events: EventStore) -> None:
        self._database = database
        self._events = events

    def suspend(self, attempt: LiveAttempt, by_itself: bool, at: float) -> None:
        """It stays suspended even if this host ends. `by_itself`: it was paused alone, not with the queue."""
        assert attempt.suspended_mono is not None
        if not self.end(attempt):
            self._events.note(attempt, "suspended", at)
        wish = standing_wish(attempt.suspended_mono, by_itself)
        self._database.execute(_SQL["begin"], {"job_id": attempt.job.id, "wish": wish, "at": at})

    def resume(self, attempt: LiveAttempt, at: float) -> None:
        """It continues, and so does its time limit: its start time was moved on by the length of the suspension."""
        self.end(attempt)
        self._database.execute(_SQL["restart_limit"], {**key_of(attempt), "started_mono": attempt.started.mono})
        self._events.note(attempt, "resumed", at)

    def end(self, attempt: LiveAttempt) -> bool:
        """False if it was not suspended."""
        return self._database.execute(_SQL["end"], {"job_id": attempt.job.id}).rowcount > 0


def standing_wish(since_mono: float, by_itself: bool) -> str:
    """`by_itself`: this job was paused, not the queue or its project; then it must be resumed by itself."""
    return f"{_SUSPENDED}:{since_mono!r}:{_BY_ITSELF if by_itself else ''}"


def suspended_since(wish: str) -> float:
    """By the monotonic clock."""
    return float(wish.split(":")[1])


def is_by_itself(wish: str) -> bool:
    return wish.endswith(f":{_BY_ITSELF}")
