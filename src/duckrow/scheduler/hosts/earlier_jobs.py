"""The jobs of a run that is resumed, matched with the lines of its list as they are read again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from duckrow.core.life.states import State
from duckrow.core.named_tuple import NamedTuple


class KnownJob(NamedTuple):
    id: int
    command: str
    state: str
    outcome: str | None


class EarlierJobs:
    """Lines are matched by their text; equal lines one by one."""

    def __init__(self, rows: Iterable[tuple[int, str, str, str | None]]) -> None:
        self._by_text: dict[str, deque[KnownJob]] = {}
        self.matched = 0
        for row in rows:
            job = KnownJob(*row)
            self._by_text.setdefault(job.command, deque()).append(job)

    def match(self, command: str) -> KnownJob | None:
        """The next earlier job with this text."""
        matching = self._by_text.get(command)
        if not matching:
            return None
        self.matched += 1
        return matching.popleft()

    def rest(self) -> list[KnownJob]:
        """Those whose line has not been read."""
        return [job for jobs in self._by_text.values() for job in jobs]

    def waiting(self) -> list[int]:
        """Those of them that are queued."""
        return [job.id for job in self.rest() if job.state == State.QUEUED]
