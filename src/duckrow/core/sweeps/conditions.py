"""Filters for results: `lr=0.1`, `loss<0.3`, `model~resnet*`."""

from __future__ import annotations

import math
import re
from typing import Any

from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.sweeps.results import cell_text, number_of

_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|!~|==|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_WRITE = "Write lr=0.1, loss<0.3, state!=failed or 'model~resnet*'."


class Condition(NamedTuple):
    """`loss<0.3` in its parts."""

    column: str
    sign: str
    wanted: str

    def holds(self, value: Any) -> bool:
        if self.sign in ("~", "!~"):
            matches = value is not None and _glob(self.wanted).fullmatch(cell_text(value)) is not None
            return matches == (self.sign == "~")
        if self.sign in ("=", "!="):
            return _is_same(value, self.wanted) == (self.sign == "=")
        return self._compares(value)

    def _compares(self, value: Any) -> bool:
        number, limit = number_of(value), number_of(self.wanted)
        below, same, above = False, False, False
        if number is not None and limit is not None:
            below, same, above = number < limit, number == limit, number > limit
        elif limit is None and isinstance(value, str):
            below, same, above = value < self.wanted, value == self.wanted, value > self.wanted
        return {"<": below, "<=": below or same, ">": above, ">=": above or same}[self.sign]


def parse_condition(text: str) -> Condition:
    """`lr=0.1`, `loss<0.3`, `state!=failed`, `model~resnet*`; `loss=` finds rows without a loss."""
    match = _CONDITION.fullmatch(text)
    if match is None or match[3].startswith(("<", ">", "=")):  # `lr=<0.1` is a typo, not a search for "<0.1"
        raise UsageError(f"'{text}' is not a filter. {_WRITE}")
    column, sign, wanted = match.groups()
    sign = "=" if sign == "==" else sign
    if not wanted and sign not in ("=", "!="):
        raise UsageError(f"The filter '{text}' does not say what to compare with. {_WRITE}")
    return Condition(column, sign, wanted)


def _is_same(value: Any, wanted: str) -> bool:
    if value is None:
        return wanted == ""
    number, other = number_of(value), number_of(wanted)
    if number is None or other is None:
        return cell_text(value) == (wanted.lower() if isinstance(value, bool) else wanted)
    if isinstance(number, int) and isinstance(other, int):
        return number == other
    if math.isnan(number):
        return math.isnan(other)
    return math.isclose(number, other, rel_tol=1e-9)  # whoever typed 0.3 also means 0.1 * 3


def _glob(pattern: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(letter) or re.escape(letter) for letter in pattern), re.DOTALL)
