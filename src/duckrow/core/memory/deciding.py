"""Which parameters decide how much memory a job uses, judged by earlier runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

from duckrow.core.devices.needs import with_margin
from duckrow.core.late_pattern import late_pattern
from duckrow.core.memory.similar_runs import MemoryEffect, MemoryEffects, Run, bounds_among, number_of, place_of

_MOST_RUNS = 32  # the latest runs to learn from: the cost grows with their square
_MOST_PARAMETERS = 24
_TOLD_AT_ONCE = 4  # runs needed to find what decides where several parameters change at once; plus one per parameter
_CLEARLY_LESS = 0.8
_WORDS = late_pattern(r"[^a-z]+")

Differences = Sequence[tuple[Run, Run, frozenset[str]]]


def differ(one_mb: int, other_mb: int) -> bool:
    """Clearly: what is reserved for the smaller is not enough for the larger."""
    return max(one_mb, other_mb) > with_margin(min(one_mb, other_mb))


def what_decides(runs: Sequence[Run]) -> dict[str, MemoryEffect]:
    """`runs`: the latest first. A parameter decides if runs that differ in nothing else differ in memory.

    If several parameters change at once, those decide by which the other runs predict a run best.
    """
    runs = runs[:_MOST_RUNS]
    if not runs or not differ(min(run.peak_mb for run in runs), max(run.peak_mb for run in runs)):
        return {}
    names = _that_vary(runs)
    pairs = [(a, b, _differing(a, b, names)) for a, b in combinations(runs, 2)]
    possible = [name for name in names if not _is_seed(name)]
    alone = [name for name in possible if _decides_alone(name, pairs)]
    certain = {name: effect_of(name, runs, alone) for name in alone}
    found = _with_those_that_tell(runs, [name for name in possible if name not in certain], certain)
    # A number that counts by its value says nothing about others: not if more of it was always more, or always less.
    return {
        name: effect_of(name, runs, found) if _ways(name, runs, found) else effect for name, effect in found.items()
    }


def _is_seed(name: str) -> bool:
    """If runs that differ in nothing but a seed differ in memory, that is chance: the next seed tells nothing."""
    return "seed" in _WORDS.split(name.lower())


def effect_of(name: str, runs: Sequence[Run], deciding: Collection[str] = ()) -> MemoryEffect:
    """RISES or FALLS if all pairs of runs that clearly differ agree; otherwise DIFFERS.

    `deciding`: all that decide. Only runs that are alike in the others are compared: a small batch of a large model may
    use more than a large batch of a small one.
    """
    units = {read[1] for run in runs if (read := number_of(run.parameters.get(name))) is not None}
    ways = set(_ways(name, runs, deciding))
    if len(units) != 1 or len(ways) > 1:
        return MemoryEffect.DIFFERS
    return MemoryEffect.FALLS if ways == {False} else MemoryEffect.RISES


def _that_vary(runs: Sequence[Run]) -> list[str]:
    """The parameters that can teach something, sorted by name.

    A text that is different in every run, such as an output folder, says nothing about the next run. It counts only if
    runs that are alike in everything else differ.
    """
    names = sorted({name for run in runs for name in run.parameters})
    values = {name: [run.parameters.get(name) for run in runs] for name in names}
    varying = [name for name in names if len(set(values[name])) > 1]
    telling = [
        name
        for name in varying
        if len(set(values[name])) < len(runs) or all(number_of(value) is not None for value in values[name])
    ]
    return (telling if _tell_apart(runs, telling) else varying)[:_MOST_PARAMETERS]


def _tell_apart(runs: Sequence[Run], names: Sequence[str]) -> bool:
    """Whether runs that are alike in these parameters used the same memory."""
    peaks: dict[tuple[str | None, ...], list[int]] = {}
    for run in runs:
        peaks.setdefault(_values(run, names), []).append(run.peak_mb)
    return not any(differ(min(mb), max(mb)) for mb in peaks.values())


def _differing(one: Run, other: Run, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if one.parameters.get(name) != other.parameters.get(name))


def _decides_alone(name: str, pairs: Differences) -> bool:
    return any(names == {name} and differ(one.peak_mb, other.peak_mb) for one, other, names in pairs)


def _with_those_that_tell(
    runs: Sequence[Run], names: list[str], found: dict[str, MemoryEffect]
) -> dict[str, MemoryEffect]:
    """Add, one by one, each parameter that makes runs predict each other clearly better."""
    if len(runs) < _TOLD_AT_ONCE + len(names):
        return found
    possible = list(_effects(runs, names))
    cost = _cost(runs, found)
    while cost > 0:
        best, limit = found, cost * _CLEARLY_LESS
        for name, effect in possible:
            tried = {**found, name: effect}
            if name not in found and (its_cost := _cost(runs, tried, limit)) < limit:
                best, limit = tried, its_cost
        if best is found:
            break
        cost, found = limit, best
    return found


def _effects(runs: Sequence[Run], names: Iterable[str]) -> Iterator[tuple[str, MemoryEffect]]:
    """What each of them may do to memory."""
    for name in names:
        if any(number_of(run.parameters.get(name)) is not None for run in runs):
            yield name, _likelier_way(name, runs)
        if len({run.parameters.get(name) for run in runs}) < len(runs):
            yield name, MemoryEffect.DIFFERS


def _likelier_way(name: str, runs: Sequence[Run]) -> MemoryEffect:
    ways = _ways(name, runs)
    return MemoryEffect.RISES if 2 * sum(ways) >= len(ways) else MemoryEffect.FALLS


def _ways(name: str, runs: Iterable[Run], deciding: Collection[str] = ()) -> list[bool]:
    """For every two runs that clearly differ: whether the larger number used more memory."""
    others = [other for other in deciding if other != name]
    read = [(number_of(run.parameters.get(name)), _values(run, others), run.peak_mb) for run in runs]
    known = [(number[0], values, mb) for number, values, mb in read if number is not None]
    return [
        (a < b) == (mb < other_mb)
        for (a, values, mb), (b, other_values, other_mb) in combinations(known, 2)
        if a != b and values == other_values and differ(mb, other_mb)
    ]


def _values(run: Run, names: Iterable[str]) -> tuple[str | None, ...]:
    return tuple(run.parameters.get(name) for name in names)


def _cost(runs: Sequence[Run], effects: MemoryEffects, limit: float = math.inf) -> float:
    """The cost of predicting each run from the others: memory reserved for nothing, or a whole attempt lost.

    An error within the margin of a reservation costs nothing. Counting stops at `limit`.
    """
    total = 0.0
    for told_mb, peak_mb in _told_by_others(runs, effects):
        if differ(told_mb, peak_mb):
            total += max(told_mb - peak_mb, 0) or peak_mb
        if total >= limit:
            break
    return total


def count_foretold(runs: Sequence[Run], effects: MemoryEffects) -> tuple[int, int]:
    """(how many runs used what the others predict, of how many). A single run predicts nothing."""
    runs = runs[:_MOST_RUNS]
    if len(runs) < 2:
        return 0, len(runs)
    return sum(not differ(told_mb, peak_mb) for told_mb, peak_mb in _told_by_others(runs, effects)), len(runs)


def _told_by_others(runs: Sequence[Run], effects: MemoryEffects) -> Iterator[tuple[int, int]]:
    """(what the others predict for a run, what it used), for each run."""
    places = [(place_of(run.parameters, effects), run.peak_mb) for run in runs]
    for number, (place, peak_mb) in enumerate(places):
        others = places[:number] + places[number + 1 :]
        bounds = bounds_among(others, place)
        yield (bounds.mb if bounds is not None and bounds.mb is not None else max(mb for _, mb in others)), peak_mb
