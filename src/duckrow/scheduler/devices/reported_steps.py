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
    number, at = (told.get("step"), told.get("_time", written_at)) if isinstance(told, dict) else (None, None)
    return Step(float(number), float(at)) if _is_number(number) and _is_number(at) else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
