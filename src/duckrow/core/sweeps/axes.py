"""The values of one parameter of a sweep, and how they are written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.sweeps.points import plain_value, text_of

MOST = 1_000_000

_NUMBER = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
_DISTRIBUTION = re.compile(r"(log|uniform|int):([+-]?\.?[0-9].*)", re.DOTALL)
_EXAMPLES = {"log": "log:1e-5..1e-1", "uniform": "uniform:0..1", "int": "int:1..100"}


class Choices(NamedTuple):
    values: tuple[Any, ...]


class Uniform(NamedTuple):
    low: float
    high: float


class LogUniform(NamedTuple):
    low: float
    high: float


class Integers(NamedTuple):
    """Whole numbers to draw from, both ends included."""

    low: int
    high: int


Distribution = Uniform | LogUniform | Integers
Axis = Choices | Distribution
Grid = Mapping[str, Axis]


def parse_axis(name: str, words: Sequence[str]) -> Axis:
    """The words of `-p lr 0.1 0.01`, `-p seed 0..9 42`, `-p x 0..1..0.25` or `-p lr log:1e-5..1e-1`."""
    return _axis(name, words)


def read_grid(parameters: Mapping[str, Any]) -> Grid:
    """The parameters from a file or from Python: an iterable is a list of choices, a text is read like a word.

    `Choices(("0..9",))` stands for the text `0..9` itself.
    """
    return {str(name): _axis_of(str(name), value) for name, value in parameters.items()}


def _axis_of(name: str, value: Any) -> Axis:
    if isinstance(value, Distribution):
        return _checked(name, value, str(value))
    if isinstance(value, Choices):
        return value if value.values else _axis(name, ())
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return _axis(name, [_native(value)])
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=text_of)
    return _axis(name, [_native(each) for each in islice(value, MOST + 1)])


def _native(value: Any) -> Any:
    """A numpy number as Python's own, in the short form in which it is printed."""
    return plain_value(str(value)) if hasattr(value, "dtype") else value


def _axis(name: str, words: Sequence[Any]) -> Axis:
    drawn = [word for word in words if isinstance(word, str) and _DISTRIBUTION.fullmatch(word)]
    if drawn and len(words) > 1:
        raise UsageError(f"The parameter {name}: {drawn[0]} cannot be mixed with other values. Use it alone.")
    if drawn:
        return _distribution(name, drawn[0])
    values: list[Any] = []
    for word in words:
        values.extend(_values(name, word))
        if len(values) > MOST:
            raise UsageError(f"The parameter {name} has more than {MOST:,} values. Draw from them: {_EXAMPLES['int']}.")
    if not values:
        written, _, behind = name.partition("=")
        example = f"{written} {behind.replace(',', ' ') or '0.1 0.01'}"
        raise UsageError(f"The parameter {name} has no value. Give it one or more, as in -p {example}.")
    return Choices(tuple(values))


def _distribution(name: str, word: str) -> Axis:
    kind, _, ends = word.partition(":")
    match = _RANGE.fullmatch(ends)
    if not match or match[3]:
        raise UsageError(f"The parameter {name}: {word} is not a distribution. Write it as {_EXAMPLES[kind]}.")
    if kind != "int":
        low, high = float(match[1]), float(match[2])
        return _checked(name, LogUniform(low, high) if kind == "log" else Uniform(low, high), word)
    if not _are_whole(match[1], match[2]):
        raise UsageError(f"The parameter {name}: {word} needs whole numbers, as in {_EXAMPLES[kind]}.")
    return _checked(name, Integers(int(match[1]), int(match[2])), word)


def _checked(name: str, axis: Distribution, word: str) -> Distribution:
    if not math.isfinite(axis.low) or not math.isfinite(axis.high):
        raise UsageError(f"The parameter {name}: {word} has a bound that is not a number. Write it as uniform:0..1.")
    if axis.high < axis.low:
        raise UsageError(f"The parameter {name}: {word} is in the wrong order. Write the smaller number first.")
    if isinstance(axis, Integers) and not (isinstance(axis.low, int) and isinstance(axis.high, int)):
        raise UsageError(f"The parameter {name}: {word} needs whole numbers, as in {_EXAMPLES['int']}.")
    if isinstance(axis, LogUniform) and axis.low <= 0:
        raise UsageError(f"The parameter {name}: {word} must begin above 0, as in {_EXAMPLES['log']}.")
    return axis


def _values(name: str, word: Any) -> Sequence[Any]:
    """The values of a word: those of a range, otherwise the word itself."""
    match = _RANGE.fullmatch(word) if isinstance(word, str) else None
    if not match:
        return (word,)
    first, last, step = match.groups()
    if step is None and not _are_whole(first, last):
        raise UsageError(
            f"The parameter {name}: {word} needs a step, as in 0..1..0.1. To draw from it, write uniform:{word}."
        )
    return _count(name, word, [first, last, step or "1"])


def _count(name: str, word: str, texts: list[str]) -> Sequence[Any]:
    (first, last, step), exponent = _as_integers(texts)
    if step == 0:
        raise UsageError(f"The parameter {name}: {word} has a step of 0. Write a larger one, as in 0..9..3.")
    if abs(last - first) // abs(step) >= MOST:
        raise UsageError(
            f"The parameter {name}: {word} is more than {MOST:,} values. Take a larger step, or draw from it with"
            f" {'int' if _are_whole(*texts) else 'uniform'}:{texts[0]}..{texts[1]}."
        )
    counted = range(first, last + 1, abs(step)) if first <= last else range(first, last - 1, -abs(step))
    if _are_whole(*texts):
        return counted
    numbers = [float(f"{number}e{exponent}") for number in counted]
    if not all(map(math.isfinite, numbers)):
        raise UsageError(f"The parameter {name}: {word} contains a number that is too large. Write smaller ones.")
    return numbers


def _as_integers(texts: Iterable[str]) -> tuple[list[int], int]:
    """The numbers as multiples of one power of ten, and its exponent, so that counting makes no rounding errors."""
    parts = [_mantissa_and_exponent(text) for text in texts]
    exponent = min(power for _, power in parts)
    return [mantissa * 10 ** (power - exponent) for mantissa, power in parts], exponent


def _mantissa_and_exponent(text: str) -> tuple[int, int]:
    digits, _, power = text.lower().partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction), int(power or 0) - len(fraction)


def _are_whole(*texts: str) -> bool:
    return all(re.fullmatch(r"[+-]?[0-9]+", text) for text in texts)
