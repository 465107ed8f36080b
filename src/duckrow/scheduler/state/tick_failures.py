"""Ticks that could not be written, one after another."""

from __future__ import annotations


class TickFailures:
    def __init__(self) -> None:
        self.is_waited_for = False  # we wait before we try again
        self.were_told = False
        self._in_the_way: dict[int, int] = {}  # job -> how many ticks could not be written because of it

    def count(self, job_id: int) -> int:
        """How many ticks this job has been in the way of, this one included."""
        self._in_the_way[job_id] = self._in_the_way.get(job_id, 0) + 1
        return self._in_the_way[job_id]

    def tell(self) -> bool:
        """Whether people have not been told since the last tick that was written."""
        told, self.were_told = self.were_told, True
        return not told

    def over(self) -> bool:
        """A tick was written. Whether people wait to hear that."""
        told, self.were_told = self.were_told, False
        return told

    def wait(self, waits: bool) -> None:
        self.is_waited_for = waits
