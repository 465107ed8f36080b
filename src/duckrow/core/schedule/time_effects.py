"""Which parameters decide how long a job runs, and how much longer or shorter each value makes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from duckrow.core.memory.similar_runs import REACH, number_of
from duckrow.core.named_tuple import NamedTuple

_TOLD_AT_ONCE = 4  # runs needed to tell an effect; plus one for each parameter that changes
_CLEARLY_LESS = 0.8
_GOOD_ENOUGH = 0.05  # an error of 5 %: no parameter needs to explain that
_MOST_PARAMETERS = 24
_LEAST_S = 0.001


class TimedRun(NamedTuple):
    """What a run was called with, and how long it took."""

    parameters: Mapping[str, str]
    seconds: float


class TimeEffect(NamedTuple):
    """What one parameter does to the time, as the logarithm of a factor."""

    name: str
    by_text: Mapping[str | None, float]  # empty for a number
    slope: float = 0.0  # of a number: twice as much takes 2 ** slope times as long
    level: float = 0.0  # at the mean of the numbers that were seen
    mean: float = 0.0  # the logarithm of a number, as the next two
    least: float = 0.0
    most: float = 0.0

    def of(self, value: str | None) -> float:
        """A text that was never seen changes nothing. A number far beyond those that were seen counts as less far."""
        if self.by_text:
            return self.by_text.get(value, 0.0)
        number = _log_number(value)
        if number is None:
            return 0.0
        reach = math.log(REACH)
        return self.level + self.slope * (min(max(number, self.least - reach), self.most + reach) - self.mean)


class TimeModel(NamedTuple):
    """How long runs take: a usual time, and factors that multiply it."""

    usual: float  # all times here are logarithms of seconds
    effects: tuple[TimeEffect, ...]
    errors: tuple[float, ...]  # of each run, predicted by the others; sorted
    judged: frozenset[str] = frozenset()  # the parameters of which it is known whether they matter

    def seconds(self, parameters: Mapping[str, str]) -> float:
        return math.exp(self.usual + sum(effect.of(parameters.get(effect.name)) for effect in self.effects))

    def factor(self, share: float) -> float:
        """This share of the runs took at most this many times what was expected."""
        return math.exp(self.errors[round(share * (len(self.errors) - 1))]) if self.errors else 1.0


def learn(runs: Sequence[TimedRun]) -> TimeModel:
    """Add the parameter that explains most of what is unexplained, as long as each explains clearly more."""
    times = [math.log(max(run.seconds, _LEAST_S)) for run in runs]
    usual = middle(times)
    left = errors = [time - usual for time in times]
    effects: list[TimeEffect] = []
    names = _that_vary(runs)
    judged = frozenset(names if len(runs) >= _TOLD_AT_ONCE + len(names) else ())
    cost = _cost(errors)
    while names and judged and cost > _GOOD_ENOUGH:
        fits = [fit for name in names for fit in _fits(name, runs, left)]
        best = min(fits, key=lambda fit: _cost(fit[1]), default=None)
        if best is None or _cost(best[1]) >= _CLEARLY_LESS * cost:
            break
        effect, errors = best
        cost = _cost(errors)
        effects.append(effect)
        names.remove(effect.name)
        left = [value - effect.of(run.parameters.get(effect.name)) for value, run in zip(left, runs, strict=True)]
    return TimeModel(usual, tuple(effects), tuple(sorted(errors)), judged)


def middle(values: Sequence[float]) -> float:
    """The median. Our own: loading the standard library's takes longer than printing a listing."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _cost(errors: Sequence[float]) -> float:
    return sum(abs(error) for error in errors) / len(errors) if errors else 0.0


def _that_vary(runs: Sequence[TimedRun]) -> list[str]:
    names = sorted({name for run in runs for name in run.parameters})
    return [name for name in names if len({run.parameters.get(name) for run in runs}) > 1][:_MOST_PARAMETERS]


def _log_number(text: str | None) -> float | None:
    read = number_of(text)
    return math.log(read[0]) if read is not None and read[0] > 0 else None


_Fit = tuple[TimeEffect, list[float]]


def _fits(name: str, runs: Sequence[TimedRun], left: Sequence[float]) -> Iterator[_Fit]:
    """What this parameter may do, and the errors that then remain if each run is predicted by the others."""
    values = [run.parameters.get(name) for run in runs]
    if len(set(values)) < len(values):
        yield _fit_texts(name, values, left)
    units = {read[1] if (read := number_of(value)) is not None else None for value in values}
    numbers = [number for value in values if (number := _log_number(value)) is not None]
    if len(numbers) == len(values) and len(units) == 1 and max(numbers) > min(numbers):
        yield _fit_numbers(name, numbers, left)


def _fit_texts(name: str, values: Sequence[str | None], left: Sequence[float]) -> _Fit:
    groups: dict[str | None, list[float]] = {}
    for value, unexplained in zip(values, left, strict=True):
        groups.setdefault(value, []).append(unexplained)
    effect = TimeEffect(name, {value: math.fsum(group) / len(group) for value, group in groups.items()})
    errors = []
    for value, unexplained in zip(values, left, strict=True):
        group = groups[value]
        others = (math.fsum(group) - unexplained) / (len(group) - 1) if len(group) > 1 else 0.0
        errors.append(unexplained - others)
    return effect, errors


def _fit_numbers(name: str, numbers: Sequence[float], left: Sequence[float]) -> _Fit:
    """A straight line through the logarithms."""
    count = len(numbers)
    mean, level = math.fsum(numbers) / count, math.fsum(left) / count
    spread = math.fsum((number - mean) ** 2 for number in numbers)
    slope = math.fsum((number - mean) * value for number, value in zip(numbers, left, strict=True)) / spread
    effect = TimeEffect(name, {}, slope, level, mean, min(numbers), max(numbers))
    errors = []
    for number, value in zip(numbers, left, strict=True):
        own = 1 / count + (number - mean) ** 2 / spread  # how much the line leans on this run
        errors.append((value - level - slope * (number - mean)) / (1 - own) if own < 0.999 else value)
    return effect, errors
