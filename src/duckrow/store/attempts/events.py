"""Events that are not moves: notes about a running attempt. A trigger writes those of moves."""

from __future__ import annotations

from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.jobs.attempt import LiveAttempt

_SQL = load_queries("events")


class EventStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def note_once(self, attempt: LiveAttempt, detail: str, at: float) -> bool:
        """Note something worth knowing, and show it as the job's detail; False if the attempt already has a note."""
        values = {**key_of(attempt), "state": attempt.state, "detail": detail}
        noted = self._database.execute(_SQL["note_once"], {**values, "at": at}).rowcount == 1
        if noted:
            self._database.execute(_SQL["set_detail"], values)
        return noted

    def note(self, attempt: LiveAttempt, detail: str, at: float) -> None:
        values = {**key_of(attempt), "state": attempt.state, "detail": detail, "at": at}
        self._database.execute(_SQL["note"], values)
