"""When jobs start whose memory grows, so that all of them fit at every moment and the last one ends soonest.

Jobs that start together reach their peaks together, and the others wait until they have ended. So some wait a while,
though there is room for them now: the use of memory is level then, and all end sooner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from duckrow.core.devices.needs import with_margin
from duckrow.core.memory.course import SLACK, Course, Slack, Tenancy
from duckrow.core.named_tuple import NamedTuple

_CELLS = 32  # into which the longest run is divided
_ROUNDS = 2  # in which each job may move once more
_CLEARLY = 0.02  # sooner than without waiting, as a share: less is not worth it


class GrowingJob(NamedTuple):
    """A job that waits."""

    id: int
    course: Course
    slack: Slack = SLACK


class StartPlan(NamedTuple):
    starts_s: Mapping[int, float]  # by job: seconds from now; those that are not in here start as soon as there is room
    ends_s: float = 0.0


class PlannedFor(NamedTuple):
    jobs: frozenset[int]  # that wait or run
    as_foreseen: int  # how many of those that run do what the same command did before


class KeptPlan(NamedTuple):
    """A plan that holds until something changes."""

    starts_mono: Mapping[int, float]  # by job, like `starts_s`
    made_for: PlannedFor
    until_mono: float  # then it is made again


def plan_starts(here: Sequence[Tenancy], comers: Sequence[GrowingJob], room_mb: int) -> StartPlan | None:
    """`here`: who is on the GPU. None: nobody has to wait longer than until there is room."""
    grid = _Grid(here, comers, room_mb)
    soonest = grid.as_soon_as_possible()
    if soonest is None:
        return None
    most = math.floor(grid.end_of(soonest) * (1 - _CLEARLY))
    best, least = None, max(len(each) for each in grid.lives)
    while least <= most:
        cells = (least + most) // 2
        found = grid.levelled(cells)
        if found is None:
            least = cells + 1
        else:
            best, most = grid.moved_forward(found), cells - 1
    if best is None:
        return None
    starts_s = {comer.id: at * grid.cell_s for comer, at in zip(comers, best, strict=True)}
    return StartPlan(starts_s, grid.end_of(best) * grid.cell_s)


class _Grid:
    """Time in cells. What is in a cell is looked at as one moment."""

    def __init__(self, here: Sequence[Tenancy], comers: Sequence[GrowingJob], room_mb: int) -> None:
        self._room_mb = room_mb
        self.cell_s = max(comer.course.lasted_s for comer in comers) / _CELLS
        self.lives = [range(math.ceil(comer.course.lasted_s / self.cell_s)) for comer in comers]
        self._uses = [self._use_of(comer) for comer in comers]
        self._here = self._use_here(here, sum(map(len, self._uses)))
        self._largest_first = sorted(range(len(comers)), key=lambda number: -sum(self._uses[number]))

    def _use_of(self, comer: GrowingJob) -> list[int]:
        """In each cell since its start, whether it is faster or slower than before."""
        tenancy = Tenancy(comer.course, 0.0, with_margin(comer.course.peak_mb, is_same=True), slack=comer.slack)
        cells = math.ceil((comer.course.lasted_s * comer.slack.slower + 2) / self.cell_s) + 1
        use = [tenancy.foreseen_mb(*span) or 0 for span in self._spans(cells)]
        while use and not use[-1]:
            use.pop()
        return use

    def _use_here(self, here: Sequence[Tenancy], cells: int) -> list[int]:
        """What is on the GPU already takes, until all that come can have been there one after the other."""
        ends = math.ceil(max((each.ends_within_s for each in here), default=0.0) / self.cell_s) + 1
        spans = [*self._spans(ends), (ends * self.cell_s, math.inf)]
        of_each = [each.most_mb_in(spans) for each in here]
        use = list(map(sum, zip(*of_each, strict=True))) if of_each else [0] * len(spans)
        return use + [use[-1]] * cells

    def _spans(self, cells: int) -> list[tuple[float, float]]:
        return list(pairwise(number * self.cell_s for number in range(cells + 1)))

    def end_of(self, starts: Sequence[int]) -> int:
        return max(at + len(life) for at, life in zip(starts, self.lives, strict=True))

    def as_soon_as_possible(self) -> list[int] | None:
        """Each in turn starts as soon as there is room for it; None: for one of them there never is."""
        used, starts = list(self._here), list[int]()
        for use in self._uses:
            at = self._first(use, used, len(used) - len(use))
            if at is None:
                return None
            _add(use, at, used)
            starts.append(at)
        return starts

    def levelled(self, cells: int) -> list[int] | None:
        """Starts with which all have ended after this many cells, and fit; None: none were found."""
        used = self._here[:cells]
        starts: dict[int, int] = {}
        for _ in range(1 + _ROUNDS):
            for number in self._largest_first:
                use = self._uses[number]
                if number in starts:
                    _add(use, starts[number], used, -1)
                starts[number] = self._least_in_the_way(use, used, cells - len(self.lives[number]))
                _add(use, starts[number], used)
            if max(used) <= self._room_mb:
                return [starts[number] for number in range(len(starts))]
        return None

    def moved_forward(self, starts: Sequence[int]) -> list[int]:
        """The same plan, but nobody waits longer than until there is room beside all others."""
        used, moved = list(self._here), list(starts)
        for use, at in zip(self._uses, moved, strict=True):
            _add(use, at, used)
        for number in sorted(range(len(moved)), key=lambda number: moved[number]):
            use = self._uses[number]
            _add(use, moved[number], used, -1)
            first = self._first(use, used, moved[number])
            moved[number] = moved[number] if first is None else first
            _add(use, moved[number], used)
        return moved

    def _first(self, use: Sequence[int], used: Sequence[int], latest: int) -> int | None:
        return next((at for at in range(latest + 1) if max(_together(used[at:], use)) <= self._room_mb), None)

    def _least_in_the_way(self, use: Sequence[int], used: Sequence[int], latest: int) -> int:
        """Where there is not too little room, or least; and among those, beside those that take little then."""
        room_mb, best, least = self._room_mb, 0, (math.inf, math.inf)
        for at in range(latest + 1):
            lacking = sum([mb - room_mb for mb in _together(used[at:], use) if mb > room_mb])
            if lacking <= least[0]:
                cost = (lacking, sum([there * mb for there, mb in zip(used[at:], use, strict=False)]))
                if cost < least:
                    best, least = at, cost
        return best


def _together(used: Sequence[int], use: Sequence[int]) -> list[int]:
    return [there + mb for there, mb in zip(used, use, strict=False)]


def _add(use: Sequence[int], at: int, used: list[int], times: int = 1) -> None:
    for cell, mb in zip(range(at, min(at + len(use), len(used))), use, strict=False):
        used[cell] += times * mb
