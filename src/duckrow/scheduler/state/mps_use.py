"""Which jobs use NVIDIA's MPS, and whether it works."""

from __future__ import annotations

_MOST_FAILURES = 3  # jobs in a row that fail under MPS before this host gives it up


class MpsUse:
    def __init__(self) -> None:
        self.is_given_up = False
        self._without: set[int] = set()  # jobs that run without it
        self.failures = 0  # of jobs in a row, because of it

    def may_use(self, job_id: int) -> bool:
        return job_id not in self._without

    def do_without(self, job_id: int) -> None:
        self._without.add(job_id)

    def fail(self, job_id: int) -> int | None:
        """A job failed because of it. How many in a row, if these are too many for the first time."""
        self._without.add(job_id)
        self.failures += 1
        return self.failures if self.failures >= _MOST_FAILURES and not self.is_given_up else None

    def succeed(self) -> None:
        self.failures = 0  # of jobs in a row, because of it

    def give_up(self) -> None:
        self.is_given_up = True
