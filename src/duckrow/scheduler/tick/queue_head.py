"""The first jobs of the queue that may start, kept in memory as long as the queue on disk begins with the same."""

from __future__ import annotations

from duckrow.core.jobs.job import QueuedJob

HEAD = 256
"""How much of the queue a tick looks at."""


class QueueHead:
    def __init__(self) -> None:
        self.jobs: list[QueuedJob] = []
        self.stale = True  # it is to be read again
        self._whole = False  # nothing eligible is behind these
        self._full: frozenset[str] = frozenset()  # the scopes of which none may start, as it was read
        self._with_needs = 0  # how many of them ask for more than devices

    def __bool__(self) -> bool:
        return bool(self.jobs)

    @property
    def any_needs(self) -> bool:
        """Whether any of them asks for more than devices, such as memory. Kept: most queues have none."""
        return self._with_needs > 0

    def is_to_be_read(self, full: frozenset[str]) -> bool:
        """`full`: the scopes of which none may start now."""
        return self.stale or full != self._full or (not self.jobs and not self._whole)

    def was_read(self, jobs: list[QueuedJob], full: frozenset[str], shunned: frozenset[int] = frozenset()) -> None:
        """These, at most `HEAD`, are the first; none of them is of a scope that is full. `shunned`: leave these out."""
        self.jobs = [job for job in jobs if job.id not in shunned] if shunned else jobs
        self._full = full
        self._with_needs = _count_needs(self.jobs)
        self._whole = len(jobs) < HEAD
        self.stale = False

    def grew(self) -> None:
        """There are more jobs, at its end."""
        self.stale = self.stale or not self.jobs or self._whole
        self._whole = False

    def drop(self, started: list[QueuedJob]) -> None:
        if self._with_needs:
            self._with_needs -= _count_needs(started)
        if self.jobs[: len(started)] == started:  # nearly always it is the first who start
            del self.jobs[: len(started)]
        else:
            self.jobs = [job for job in self.jobs if job not in started]
            # Those who overtook came from the midst. There may be more who fit, further behind.
            self.stale = self.stale or (len(self.jobs) < HEAD // 2 and not self._whole)


def _count_needs(jobs: list[QueuedJob]) -> int:
    return sum(job.needs is not None for job in jobs)
