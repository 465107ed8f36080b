"""Which jobs give way if all that grow on a GPU will not have room: a few stop before many run out of memory.

Jobs that start together grow together. If the memory is not enough, one that asks for more fails, and keeps what it has
until it has ended. Until then, others ask for more and fail, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple

TRIED_OUT_S = 60.0
"""For this long, a job of unknown memory use is tried out beside others: if it must begin again, little is lost."""

_LIKELY = 0.5  # one that grew is as likely to grow again as to stay as it is


class UnknownJob(NamedTuple):
    """A job of which nobody knows how far it will grow."""

    attempt_id: int
    used_mb: int
    grows_by_mb: int  # soon, if it grows as it did last
    reserved_mb: int
    age_s: float

    @property
    def may_stop(self) -> bool:
        """Not if it keeps to what it has reserved, nor if it has run for so long that much would be lost."""
        return self.used_mb + self.grows_by_mb > self.reserved_mb and self.age_s <= TRIED_OUT_S


def give_way(jobs: Sequence[UnknownJob], free_mb: int) -> list[int]:
    """The attempts that stop, so that the others can grow: those that use most, so that few have to; never all."""
    lacking_mb = _LIKELY * sum(job.grows_by_mb for job in jobs) - free_mb
    may_stop = sorted((job for job in jobs if job.may_stop), key=lambda job: (job.used_mb, -job.age_s))
    stop: list[int] = []
    while lacking_mb > 0 and may_stop and len(stop) < len(jobs) - 1:
        job = may_stop.pop()
        lacking_mb -= job.used_mb + _LIKELY * job.grows_by_mb
        stop.append(job.attempt_id)
    return stop
