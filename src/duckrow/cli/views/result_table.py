"""The results of a sweep as a table for a terminal, or as CSV."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from duckrow.api.results.results import Results
from duckrow.cli.console import OUTCOME_COLOURS, clean, display_width, print_table, terminal_width
from duckrow.core.jobs.job import shorten
from duckrow.core.life.states import Outcome, State
from duckrow.core.sweeps.results import short_text
from duckrow.core.units import format_duration, plural

_HEADERS = {"time_s": "TIME", "peak_memory_mb": "MEMORY", "utilization": "BUSY", "gpu_seconds": "GPU-TIME"}
_NARROWEST = 10  # columns shrink to this width before the table gets too wide
_PATTERN_WIDTH = 200


def print_results(shown: Results, columns: Sequence[str], may_leave_out: bool) -> list[str]:
    """Print the rows; returns the columns that did not fit, if some may be left out."""
    texts = {column: [_cell(column, row[column]) for row in shown] for column in columns}
    headers = {column: _header(shown, column) for column in columns}
    optional = [*shown.parameters, *shown.metrics, "peak_memory_mb"] if may_leave_out else []
    left_out = _without_room(texts, headers, optional)
    kept = [column for column in columns if column not in left_out]
    rows = list(zip(*(texts[column] for column in kept), strict=True))
    print_table([headers[column] for column in kept], rows, [OUTCOME_COLOURS.get(row["state"], "") for row in shown])
    return left_out


def _without_room(texts: dict[str, list[str]], headers: dict[str, str], optional: Sequence[str]) -> list[str]:
    """The last optional columns: those that do not fit into a line even at their narrowest."""
    if not sys.stdout.isatty():
        return []
    needed = {
        column: min(max(map(display_width, [headers[column], *cells])), _NARROWEST) + 2
        for column, cells in texts.items()
    }
    left_out: list[str] = []
    candidates = [column for column in optional if column in needed]
    while candidates and sum(needed.values()) - 2 > terminal_width():
        left_out.insert(0, candidates.pop())
        del needed[left_out[0]]
    return left_out


def _header(shown: Results, column: str) -> str:
    """duckrow's own columns in capitals; the user's parameters and metrics unchanged."""
    if column in shown.parameters or column in shown.metrics:
        return clean(column)
    return _HEADERS.get(column, column.upper())


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column in ("time_s", "gpu_seconds"):
        return format_duration(value)
    if column == "utilization":
        return f"{value:.0f}%"
    return f"{value} MB" if column == "peak_memory_mb" else short_text(value)


def heading(everything: Results) -> str:
    """Which sweep this is, and the parameters that all its runs share."""
    varying = set(everything.varying())
    fixed = [column for column in everything.parameters if column not in varying] if everything else []
    shared = ", ".join(f"{column}={short_text(everything[0][column])}" for column in fixed)
    pattern = shorten(everything.sweep.pattern, _PATTERN_WIDTH)
    return clean(f"{everything.sweep.name}: {pattern}" + (f"  (in all runs {shared})" if shared else ""))


def totals(everything: Results, shown: int) -> str:
    counts = Counter(row["state"] for row in everything)
    listed = ", ".join(f"{counts[state]} {state}" for state in [*Outcome, *State] if counts[state])
    hidden = "" if shown == len(everything) else f" {shown or 'None'} shown."
    return f"{plural(len(everything), 'run')}: {listed}.{hidden}"
