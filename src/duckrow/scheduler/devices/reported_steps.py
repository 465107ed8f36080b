"""The last step that a run has reported: the number `step` of its metrics."""

from __future__ import annotations

import json
import math
import os

from duckrow.core.schedule.step_times import Step
from duckrow.kernel.log_ends import last_lines

_LOOKED_AT = 8  # lines: a run may report other metrics in between
_LONGEST = 4096  # characters of a line


def last_step(folder: str) -> Step | None:
    """None: it has reported none."""
    path = f"{folder}/metrics.jsonl"
    try:
        written_at = os.stat(path).st_mtime
    except OSError:
        return None
    for line in reversed(last_lines(path, _LOOKED_AT, longest=_LONGEST)):
        step = _step(line, written_at)
        if step is not None:
            return step
    return None


def _step(line: str, written_at: float) -> Step | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    number, at = _number(told.get("step")), _number(told.get("_time", written_at))
    return None if number is None or at is None else Step(number, at)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
