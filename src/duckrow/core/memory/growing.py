"""Which jobs give way if all that grow on a GPU will not have room: a few stop before many run out of memory.

Jobs that start together grow together. If the memory is not enough, one that asks for more fails, and keeps what it has
until it has ended. Until then, others ask for more and fail, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple


class UnknownJob(NamedTuple):
    """A job of which nobody knows how far it will grow."""

    attempt_id: int
    used_mb: int
    grows_by_mb: int  # soon, if it grows as it did last
    reserved_mb: int
    started_mono: float

    @property
    def keeps_to_its_own(self) -> bool:
        return self.used_mb + self.grows_by_mb <= self.reserved_mb


def give_way(jobs: Sequence[UnknownJob], free_mb: int) -> list[int]:
    """The attempts that stop, so that the others can grow: those that use most, so that few have to; never all.

    One that keeps to what it has reserved never stops.
    """
    lacking_mb = sum(job.grows_by_mb for job in jobs) - free_mb
    may_stop = sorted(
        (job for job in jobs if not job.keeps_to_its_own), key=lambda job: (job.used_mb, job.started_mono)
    )
    stop: list[int] = []
    while lacking_mb > 0 and may_stop and len(stop) < len(jobs) - 1:
        job = may_stop.pop()
        lacking_mb -= job.used_mb + job.grows_by_mb
        stop.append(job.attempt_id)
    return stop
