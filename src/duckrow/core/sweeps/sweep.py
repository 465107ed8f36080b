"""The points of a sweep, and their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from random import Random
from typing import TypeVar

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.axes import (
    MOST,
    Axis,
    Choices,
    Grid,
    Integers,
    LogUniform,
    Uniform,
    parse_axis,
    read_grid,
)
from duckrow.core.sweeps.points import Point, key_of, plain_value, text_of

__all__ = [
    "MODES",
    "MOST",
    "Axis",
    "Choices",
    "Grid",
    "Integers",
    "LogUniform",
    "Point",
    "Uniform",
    "expand",
    "key_of",
    "parse_axis",
    "plain_value",
    "read_grid",
    "shuffle",
    "text_of",
]

MODES = ("grid", "shuffled", "random")
DRAWS_PER_POINT = 100  # on average, before we give up looking for more points

T = TypeVar("T")


def expand(
    grids: Sequence[Grid], mode: str | None = None, n_samples: int | None = None, seed: int | None = 0
) -> list[Point]:
    """The points of one or more grids, each point once.

    With n_samples, `grid` gives the first of its points, `shuffled` draws among them without replacement, and
    `random` draws a value for each parameter. By default the mode is `random` if there is a distribution, else
    `shuffled` if there is a number of samples, else `grid`.
    """
    drawn = next((name for grid in grids for name, axis in grid.items() if not isinstance(axis, Choices)), None)
    mode = mode or ("random" if drawn else "grid" if n_samples is None else "shuffled")
    if mode not in MODES:
        raise UsageError(f"There is no mode '{mode}'. The modes are: {', '.join(MODES)}.")
    if n_samples is not None and n_samples < 1:
        raise UsageError(f"A sweep cannot have {n_samples} samples. Ask for 1 or more.")
    if mode == "random":
        return _draw(grids, n_samples, Random(seed))
    if drawn:
        raise UsageError(
            f"The parameter {drawn} is drawn, which mode {mode} cannot do. List its values, or use random."
        )
    points = _all_points(grids)
    return (shuffle(points, seed) if mode == "shuffled" else points)[:n_samples]


def shuffle(items: Sequence[T], seed: int | None) -> list[T]:
    """The items in an order that the seed decides, the same on every Python; None: a new order each time.

    From the last place down to the second, each place is swapped with one at or below it (Fisher and Yates). The
    orders are those of simple_hypersearch.
    """
    random = Random(seed)
    shuffled = list(items)
    for place in range(len(shuffled) - 1, 0, -1):
        other = _below(place + 1, random)
        shuffled[place], shuffled[other] = shuffled[other], shuffled[place]
    return shuffled


def _below(limit: int, random: Random) -> int:
    """A whole number from 0 to below the limit. Python may change how it draws, but not its stream of bits."""
    if limit == 1:
        return 0  # so a parameter with a single value changes nothing for the others
    bits = limit.bit_length()
    number = random.getrandbits(bits)
    while number >= limit:
        number = random.getrandbits(bits)
    return number


def _all_points(grids: Sequence[Grid]) -> list[Point]:
    size = sum(map(_size, grids))
    if size > MOST:
        raise UsageError(
            f"The sweep has {size:,} points; at most {MOST:,} can be listed. Draw some of them: mode random, with the"
            " number of samples."
        )
    points = (point for grid in grids for point in _points_of(grid))
    return list(points if len(grids) == 1 else _each_once(points))


def _size(grid: Grid) -> float:
    """How many points there are; infinite if a parameter is drawn from an interval."""
    return math.prod(map(_length, grid.values()))


def _length(axis: Axis) -> float:
    if isinstance(axis, Choices):
        return len(axis.values)
    return axis.high - axis.low + 1 if isinstance(axis, Integers) else math.inf


def _points_of(grid: Grid) -> Iterator[Point]:
    axes = [_distinct(axis.values) for axis in grid.values() if isinstance(axis, Choices)]
    return (dict(zip(grid, combination, strict=True)) for combination in product(*axes))


def _distinct(values: Iterable[T]) -> Iterable[T]:
    by_text: dict[str, T] = {}
    for value in values:
        by_text.setdefault(text_of(value), value)
    return by_text.values()


def _each_once(points: Iterable[Point]) -> Iterator[Point]:
    seen: set[str] = set()
    for point in points:
        key = key_of(point)
        if key not in seen:
            seen.add(key)
            yield point


def _draw(grids: Sequence[Grid], n_samples: int | None, random: Random) -> list[Point]:
    if n_samples is None:
        raise UsageError("A random sweep needs to know how many points to draw. Say it with --n-samples 20.")
    wanted = min(n_samples, sum(map(_size, grids)))
    if wanted > MOST:
        raise UsageError(f"A sweep cannot have {wanted:,} samples. Ask for at most {MOST:,}.")
    draws = (_point(grids[_below(len(grids), random)], random) for _ in range(int(wanted) * DRAWS_PER_POINT))
    return list(islice(_each_once(draws), int(wanted)))


def _point(grid: Grid, random: Random) -> Point:
    return {name: _value(axis, random) for name, axis in grid.items()}


def _value(axis: Axis, random: Random) -> object:
    if isinstance(axis, Choices):
        return axis.values[_below(len(axis.values), random)]
    if isinstance(axis, Integers):
        return axis.low + _below(axis.high - axis.low + 1, random)
    return _between(axis, random.random())


def _between(axis: Uniform | LogUniform, share: float) -> float:
    """The number at this fraction of the way between the ends, to six digits: enough, and readable."""
    low, high = axis
    if isinstance(axis, LogUniform):
        number = math.exp(math.log(low) * (1 - share) + math.log(high) * share)
    else:
        number = low * (1 - share) + high * share
    return min(max(float(f"{number:.6g}"), low), high)
