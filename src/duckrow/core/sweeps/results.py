"""The rows of a sweep's results: cells and columns, order, the best rows, the failures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from duckrow.core.life.failures import essence
from duckrow.core.named_tuple import NamedTuple

Row = dict[str, Any]

_LARGEST = 10**300  # an integer that no float can hold is treated as text

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


# -- cells ------------------------------------------------------------------------------------------------------


def number_of(value: Any) -> int | float | None:
    """The number in a cell or a word, or None."""
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) > _LARGEST):
        return None
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str) or len(value) > 300 or not _NUMBER.fullmatch(value):
        return None
    return int(value) if re.fullmatch(r"[+-]?[0-9]+", value) else float(value)


def cell_text(value: Any) -> str:
    """A cell as text, in full: empty if missing, JSON if it is not a scalar."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)  # NaN and Infinity are written by name


def short_text(value: Any) -> str:
    """A cell for people: six digits are enough."""
    return f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else cell_text(value)


def json_ready(value: Any) -> Any:
    """The same with NaN and infinities as text: JSON has no numbers for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return cell_text(value)
    if isinstance(value, dict):
        return {key: json_ready(inner) for key, inner in value.items()}
    return [json_ready(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _is_nan(value: Any) -> bool:
    number = number_of(value)
    return number is not None and math.isnan(number)


# -- columns ----------------------------------------------------------------------------------------------------


def name_columns(taken: Iterable[str], names: Iterable[str], prefix: str) -> dict[str, str]:
    """The column of each name: the name itself, with the prefix in front if that is taken."""
    used = set(taken)
    columns: dict[str, str] = {}
    for name in dict.fromkeys(names):
        column = name
        while column in used:
            column = prefix + column
        columns[name] = column
        used.add(column)
    return columns


def varying(rows: Sequence[Row], columns: Iterable[str]) -> list[str]:
    """The columns that differ between rows."""
    return [column for column in columns if len({cell_text(row.get(column)) for row in rows}) > 1]


# -- order ------------------------------------------------------------------------------------------------------


def sorted_rows(rows: Iterable[Row], column: str, down: bool = False) -> list[Row]:
    """By a column, numbers before words. Missing values and NaN come last either way."""
    numbers: list[tuple[float, Row]] = []
    words: list[tuple[str, Row]] = []
    unknown: list[Row] = []
    for row in rows:
        value = row.get(column)
        number = number_of(value)
        if value is None or _is_nan(value):
            unknown.append(row)
        elif number is not None:
            numbers.append((number, row))
        else:
            words.append((cell_text(value), row))
    numbers.sort(key=lambda pair: pair[0], reverse=down)
    words.sort(key=lambda pair: pair[0], reverse=down)
    return [*(row for _, row in numbers), *(row for _, row in words), *unknown]


def best_rows(rows: Iterable[Row], metric: str, lowest: bool = True, per: Sequence[str] = ()) -> list[Row]:
    """The row with the lowest (or highest) number in a column; with `per` one for each value of these columns."""
    measured = [row for row in rows if number_of(row.get(metric)) is not None and not _is_nan(row[metric])]
    best: dict[tuple[str, ...], Row] = {}
    for row in sorted_rows(measured, metric, down=not lowest):
        best.setdefault(tuple(cell_text(row.get(column)) for column in per), row)
    return list(best.values())


# -- failures ---------------------------------------------------------------------------------------------------


class FailureGroup(NamedTuple):
    error: str  # as the first of them reported it
    ids: list[int]


def failure_groups(failures: Iterable[tuple[int, str]]) -> list[FailureGroup]:
    """From (id, what went wrong): each error once, the most frequent first."""
    groups: dict[str, FailureGroup] = {}
    for job_id, error in failures:
        groups.setdefault(essence(error), FailureGroup(error, [])).ids.append(job_id)
    return sorted(groups.values(), key=lambda group: -len(group.ids))
