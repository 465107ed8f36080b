"""How many jobs at a time are worth it on a GPU: by how long runs of a recipe, or steps of them, took beside others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.devices.machine import is_one_wave
from duckrow.core.named_tuple import NamedTuple

_ENOUGH_RUNS = 3  # beside about as many others, to say how long they take
_ALIKE = 0.25  # by how much their times may differ, as a share: beyond that, they do not do the same work
_AS_GOOD = 0.97  # of the best pace: more jobs at a time are not worth less than this
_ABOUT = 1.35  # numbers at a time whose ratio is less count as the same
_MOST_TO_TELL = 8  # runs are enough to tell a pace, however many run at a time
_FEWEST = 4
_LONG_QUEUE = 4  # times as many jobs wait as run: then a try with fewer costs little
_ENOUGH_QUEUE = 2  # the same where the GPU is always busy: fewer may well be as good
_PAYS = 0.5  # of what twice as many at a time could bring
_FULL = 95.0  # percent
_NEARLY = 0.05


class Finished(NamedTuple):
    """Work that is done: a run that has ended well, or a step of one."""

    together: float  # how many were on its GPU meanwhile, itself among them, on average
    lasted_s: float
    busy: float | None = None  # how busy the GPU was meanwhile, in percent
    cores_busy: float | None = None  # all cores, in percent


class BestPace(NamedTuple):
    """This many at a time are as good as more."""

    together: int
    tried: int  # the most at a time of which that is known; the same number: all cores were busy
    against: int  # the fewest at a time that were seen
    times: float  # as many runs in the same time as those

    def is_like(self, other: BestPace | None) -> bool:
        """Whether they tell the same, or nearly."""
        if other is None or self[:3] != other[:3]:
            return False
        return abs(self.times - other.times) <= _NEARLY * other.times

    @property
    def words(self) -> str:
        """For people."""
        fewest = "one" if self.against == 1 else str(self.against)
        paid = f": {self.times:.1f} x {fewest} at a time" if self.against < self.together else ""
        why = "more did not help" if self.tried > self.together else "all cores were busy"
        return f"{self.together} at a time{paid}; {why}"


class _Level(NamedTuple):
    together: float
    rate: float  # runs that end, per second
    runs: int
    is_full: bool = False  # the GPU was always busy
    has_no_core_left: bool = False


def best_pace(ends: Iterable[Finished]) -> BestPace | None:
    """None: nobody knows, or more at a time were always better."""
    levels = _levels(ends)
    best = _best(levels)
    if best is None or (best is levels[-1] and not (best.has_no_core_left and len(levels) > 1)):
        return None
    fewest, most = levels[0], levels[-1]
    return BestPace(round(best.together), round(most.together), round(fewest.together), best.rate / fewest.rate)


def next_number(ends: Sequence[Finished], waiting: int, now: int | None) -> int | None:
    """How many at a time from now on; None: as many as have room.

    While the fewest that were seen are as good as more, half as many are tried; while the most are best, twice as many;
    if the queue is long enough to profit, and unless all cores are busy: then more have nothing to run on. If it is
    not, all that have room start, as long as more at a time paid off.
    `waiting`: how many more wait for their turn; `now`: what is tried now.
    """
    levels = _levels(ends)
    best = _best(levels)
    if best is None:
        return now
    number = max(round(best.together), 1)
    is_told = best.runs >= min(number, _MOST_TO_TELL)
    may_try = is_told and waiting >= _LONG_QUEUE * number
    if best is levels[0]:
        enough = _ENOUGH_QUEUE if best.is_full or best.has_no_core_left else _LONG_QUEUE
        may_try = is_told and waiting >= enough * number
        return number // 2 if may_try and number > 1 else number if len(levels) > 1 else now
    if best is levels[-1] and not best.has_no_core_left:
        return 2 * number if may_try else None if _still_pays(*levels[-2:]) else number
    return number


def _still_pays(fewer: _Level, more: _Level) -> bool:
    """Whether more at a time were so much better than fewer that still more are likely to be."""
    return more.rate / fewer.rate - 1 >= _PAYS * (more.together / fewer.together - 1)


def first_number(known: BestPace | None, cores: int | None, gpus: int, waiting: int) -> int | None:
    """How many at a time to begin with, before any run has ended; None: as many as have room.

    Cores are often the wall. But a queue that is not long is started at once.
    """
    if known is None and cores is None:
        return None
    number = known.together if known is not None else max((cores or 0) // max(gpus, 1), _FEWEST)
    return None if is_one_wave(waiting, number) else number


def _best(levels: Sequence[_Level]) -> _Level | None:
    """The fewest at a time whose pace is about the best."""
    top = max((level.rate for level in levels), default=0.0)
    return next((level for level in levels if level.rate >= _AS_GOOD * top), None)


def _levels(ends: Iterable[Finished]) -> list[_Level]:
    """By how many ran at a time, the fewest first; without those whose times say nothing."""
    grouped: dict[int, list[Finished]] = {}
    for end in ends:
        grouped.setdefault(round(math.log(max(end.together, 1.0), _ABOUT)), []).append(end)
    levels = []
    for _, group in sorted(grouped.items()):
        times = [end.lasted_s for end in group]
        mean_s = _mean(times)
        deviation_s = math.sqrt(_mean([(seconds - mean_s) ** 2 for seconds in times]))
        if len(group) >= _ENOUGH_RUNS and mean_s > 0 and deviation_s <= _ALIKE * mean_s:
            together = _mean([end.together for end in group])
            is_full, no_core_left = _is_full(end.busy for end in group), _is_full(end.cores_busy for end in group)
            levels.append(_Level(together, together / mean_s, len(group), is_full, no_core_left))
    return levels


def _is_full(percents: Iterable[float | None]) -> bool:
    known = [percent for percent in percents if percent is not None]
    return bool(known) and _mean(known) >= _FULL


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class Crowds:
    """How many jobs there have been on each GPU, over time. All times are monotonic."""

    def __init__(self) -> None:
        self._now: dict[str, tuple[float, int, float]] = {}  # GPU -> (since when, how many, their seconds before that)
        self._came: dict[int, tuple[str, float, float]] = {}  # attempt -> (its GPU, when, the seconds by then)

    def note(self, jobs: Mapping[str, int], mono: float) -> None:
        """There are this many from now on."""
        for gpu, number in jobs.items():
            self._now[gpu] = (mono, number, self._seconds(gpu, mono))

    def came(self, attempt_id: int, gpu: str, mono: float) -> None:
        self._came[attempt_id] = (gpu, mono, self._seconds(gpu, mono))

    def went(self, attempt_id: int, mono: float) -> float | None:
        """How many there were while it ran, on average; None: nobody saw it come."""
        gpu, came_mono, seconds = self._came.pop(attempt_id, ("", mono, 0.0))
        return (self._seconds(gpu, mono) - seconds) / (mono - came_mono) if mono > came_mono else None

    def _seconds(self, gpu: str, mono: float) -> float:
        since, number, before = self._now.get(gpu, (mono, 0, 0.0))
        return before + number * (mono - since)
