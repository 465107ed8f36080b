"""Compares the runs of a recipe: what a run uses, judged by runs with more and less of the parameters that decide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from duckrow.core.devices.needs import with_margin
from duckrow.core.late_pattern import late_pattern
from duckrow.core.named_tuple import NamedTuple

REACH = 2.0
"""Up to this many times the largest number seen, a guess is still worth making."""

_TELLS_A_SLOPE = 1.25  # how far apart two numbers must be: between nearer ones noise dominates
_STEEPEST = 3.0
_NUMBER = late_pattern(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([A-Za-z]*)")


class Run(NamedTuple):
    """What a run was called with, and the most GPU memory that it used."""

    parameters: Mapping[str, str]
    peak_mb: int


class MemoryEffect(Enum):
    """What a larger value of a parameter does to memory."""

    RISES = "rises"
    FALLS = "falls"
    DIFFERS = "differs"  # not a number, or a larger one says nothing


MemoryEffects = Mapping[str, MemoryEffect]


Numbers = tuple[float, ...]


class Place(NamedTuple):
    """The position of a run by the parameters that decide."""

    group: tuple[str | None, ...]  # must be the same for two runs to be comparable
    numbers: Numbers  # the larger, the more memory


class Bounds(NamedTuple):
    at_least_mb: int  # what was seen for smaller numbers
    mb: int | None  # None: too far from anything that was seen
    is_beyond: bool  # nothing was seen for numbers as large or larger


def number_of(text: str | None) -> tuple[float, str] | None:
    """`32`, `1e-3`, `7b`: the number, and its unit."""
    found = _NUMBER.fullmatch(text) if text else None
    if found is None:
        return None
    number = float(found[1])
    return (number, found[2]) if math.isfinite(number) else None


def place_of(parameters: Mapping[str, str], effects: MemoryEffects) -> Place:
    group: list[str | None] = []
    numbers: list[float] = []
    for name, effect in effects.items():
        text = parameters.get(name)
        read = None if effect is MemoryEffect.DIFFERS else number_of(text)
        group.append(text if read is None else f"number {read[1]}")
        if read is not None:
            # If memory falls with the number, invert it to keep the same scale: half of it counts as twice as much.
            value = read[0] if effect is MemoryEffect.RISES else 1 / read[0] if read[0] > 0 else -read[0]
            numbers.append(value)
    return Place(tuple(group), tuple(numbers))


class SeenPeaks(NamedTuple):
    """The peaks of the runs by position, and how steeply they rise."""

    peaks: Mapping[Place, int]
    steepness: float = 1.0  # twice the number takes at most 2 ** steepness times the memory

    @classmethod
    def of(cls, runs: Iterable[Run], effects: MemoryEffects) -> SeenPeaks:
        peaks: dict[Place, int] = {}
        for run in runs:
            place = place_of(run.parameters, effects)
            peaks[place] = max(peaks.get(place, 0), run.peak_mb)
        return cls(peaks, _steepness(list(peaks.items())))

    def bounds(self, asked: Place) -> Bounds | None:
        return bounds_among(self.peaks.items(), asked, self.steepness)


def bounds_among(seen: Iterable[tuple[Place, int]], asked: Place, steepness: float = 1.0) -> Bounds | None:
    """What a run at this position uses; None: there is no run to compare it with."""
    known = [(place.numbers, mb) for place, mb in seen if place.group == asked.group]
    if not known:
        return None
    floor = max((mb for numbers, mb in known if _is_within(numbers, asked.numbers)), default=0)
    above = min((mb for numbers, mb in known if _is_within(asked.numbers, numbers)), default=None)
    if above is not None:
        return Bounds(floor, max(floor, above), is_beyond=False)
    times = [(_times(numbers, asked.numbers), mb) for numbers, mb in known]
    guesses = [mb * more**steepness for more, mb in times if more <= REACH]
    return Bounds(floor, max(floor, math.ceil(min(guesses))) if guesses else None, is_beyond=True)


def _is_within(less: Numbers, more: Numbers) -> bool:
    return all(a <= b for a, b in zip(less, more, strict=True))


def _times(seen: Numbers, asked: Numbers) -> float:
    """By which factor the numbers are larger in total, counting only those that are larger."""
    times = 1.0
    for a, b in zip(seen, asked, strict=True):
        if b > a:
            times *= b / a if a > 0 else math.inf
    return times


def _steepness(known: Sequence[tuple[Place, int]]) -> float:
    """The steepest rise that was seen, apart from what the margin of a reservation covers."""
    steepest = 1.0
    for less, less_mb in known:
        for more, more_mb in known:
            if less.group == more.group and more_mb > with_margin(less_mb) and _is_within(less.numbers, more.numbers):
                times = _times(less.numbers, more.numbers)
                if _TELLS_A_SLOPE <= times < math.inf:
                    steepest = max(steepest, math.log(more_mb / with_margin(less_mb)) / math.log(times))
    return min(steepest, _STEEPEST)
