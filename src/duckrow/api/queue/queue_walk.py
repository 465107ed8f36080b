"""In which order the jobs of a queue will end: a walk through it, as seats become free."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from duckrow.core.named_tuple import NamedTuple


class ExpectedStart(NamedTuple):
    id: int
    expected_s: float  # infinite: unknown
    seats: int  # how many it takes


class QueueWalk(NamedTuple):
    """How far a queue was read, and what was found."""

    ends_in_s: dict[int, float]  # by job; without those whose end is unknown
    is_complete: bool  # nothing behind it has an end that could be known


def walk_queue(seats: int, busy: Sequence[float], queue: Iterable[ExpectedStart], wanted: set[int]) -> QueueWalk:
    """When each job will have ended, up to the last wanted one, if jobs start in order as seats become free.

    `busy`: how long running jobs will go on, once for each seat. Other hosts may use our GPUs too, so there may be more
    of these than seats.
    """
    free_in = [*sorted(busy)[-seats:], *[0.0] * (seats - len(busy))]
    heapq.heapify(free_in)
    ends: dict[int, float] = {}
    left = set(wanted)
    for job in queue:
        taken = [heapq.heappop(free_in) for _ in range(min(max(job.seats, 1), len(free_in)))]
        end = taken[-1] + job.expected_s
        for _ in taken:
            heapq.heappush(free_in, end)
        if end < math.inf:
            ends[job.id] = end
        left.discard(job.id)
        if not left or free_in[0] == math.inf:
            break
    return QueueWalk(ends, is_complete=bool(left))
