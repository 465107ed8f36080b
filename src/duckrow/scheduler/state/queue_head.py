"""The first jobs of the queue that may start. They stay in memory while the queue on disk begins with the same."""

from __future__ import annotations

from duckrow.core.jobs.job import QueuedJob

HEAD = 256
"""How many jobs of the queue a tick looks at."""


class QueueHead:
    def __init__(self) -> None:
        self.jobs: list[QueuedJob] = []
        self.stale = True  # it must be read again
        self._whole = False  # no other job may start
        self._full: frozenset[str] = frozenset()  # the scopes that were full when it was read
        self._with_needs = 0  # how many of them ask for more than devices

    def __bool__(self) -> bool:
        return bool(self.jobs)

    @property
    def any_needs(self) -> bool:
        """Whether any of them asks for more than devices, such as memory. Kept: most queues have none."""
        return self._with_needs > 0

    @property
    def is_whole(self) -> bool:
        """Whether these are all the jobs that may start."""
        return self._whole and not self.stale

    def is_to_be_read(self, full: frozenset[str]) -> bool:
        """`full`: the scopes that have reached their limit."""
        return self.stale or full != self._full or (not self.jobs and not self._whole)

    def was_read(self, jobs: list[QueuedJob], full: frozenset[str], shunned: frozenset[int] = frozenset()) -> None:
        """Keep these first jobs, at most `HEAD`. None of them is of a full scope. `shunned`: leave these out."""
        self.jobs = [job for job in jobs if job.id not in shunned] if shunned else jobs
        self._full = full
        self._with_needs = _count_needs(self.jobs)
        self._whole = len(jobs) < HEAD
        self.stale = False

    def outdate(self) -> None:
        """The queue on disk may begin with others now."""
        self.stale = True

    def grew(self) -> None:
        """More jobs were added at the end of the queue."""
        self.stale = self.stale or not self.jobs or self._whole
        self._whole = False

    def drop(self, started: list[QueuedJob]) -> None:
        if self._with_needs:
            self._with_needs -= _count_needs(started)
        if self.jobs[: len(started)] == started:  # nearly always, the first jobs start
            del self.jobs[: len(started)]
        else:
            self.jobs = [job for job in self.jobs if job not in started]
            # Backfilled jobs came from the middle. More that fit may be further back.
            self.stale = self.stale or (len(self.jobs) < HEAD // 2 and not self._whole)


def _count_needs(jobs: list[QueuedJob]) -> int:
    return sum(job.needs is not None for job in jobs)
