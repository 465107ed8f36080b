"""Metrics: what a run reports, a line of JSON at a time, and how it is read back."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # training scripts load this, and `typing` takes longer to load than all the rest
    from typing import Any

VARIABLE = "DUCKROW_METRICS"
FILE_NAME = "metrics.jsonl"

_TAIL_BYTES = 1 << 20  # only this much of the end of a longer file is searched for the last values
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_NAMES = {repr(number): name for name, number in _NOT_FINITE.items()}


# -- writing ----------------------------------------------------------------------------------------------------


def report(**metrics: Any) -> bool:
    """Note metrics of this run: `duckrow.report(loss=0.3, step=10)`. Whether they were written.

    Numbers of numpy, torch and others become numbers; what JSON does not know becomes text. Outside a run of duckrow
    nothing happens, so that a script works without it. It never raises: a training must not end because of a metric.
    """
    path = os.environ.get(VARIABLE)
    return note_metrics(path, metrics) if path and metrics else False


def note_metrics(path: str, metrics: dict[str, Any]) -> bool:
    """Add a line to this file; whether it was written."""
    try:
        line = json.dumps({"_time": time.time(), **{name: _plain(value) for name, value in metrics.items()}})
        return _append(path, line.encode() + b"\n")
    except Exception:  # a full disk, a missing folder, a value that cannot be printed: see `report`
        return False


def _append(path: str, data: bytes) -> bool:
    """Append in one write, so that the lines of several processes never mix."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        return os.write(file, data) == len(data)
    finally:
        os.close(file)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it. NaN becomes text, so that the line is JSON for every reader."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if not isinstance(value, (int, float, dict, list, tuple)):
        value = _scalar(value)
    if isinstance(value, float):
        return _NAMES.get(repr(float(value)), float(value))
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_scalar))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _scalar(value: Any) -> Any:
    """The number in a scalar or a one-element array; anything else as text."""
    try:
        inner = value.item()
    except Exception:  # no `item`, or several elements: each library raises its own error
        return str(value)
    return inner if isinstance(inner, (int, float, str, bool)) else str(inner)


# -- reading ----------------------------------------------------------------------------------------------------


def read_metrics(path: str, most_bytes: int | None = None) -> list[dict[str, Any]]:
    """Everything a run has reported, oldest first. Skips lines that are broken, incomplete or not objects.

    `most_bytes`: read at most this much, from the end of the file.
    """
    return [metrics for line in _lines(path, most_bytes) if (metrics := _parsed(line)) is not None]


def last_metrics(path: str) -> dict[str, Any]:
    """The last value of each metric that is not null; names that begin with an underscore are left out.

    Only the last megabyte of a file counts (some 10,000 lines), so that the table of 200 long runs appears at once.
    A metric that is reported only once, early, should be reported again at the end.
    """
    last: dict[str, Any] = {}
    settled: set[str] = set()
    for line in reversed(_lines(path, _TAIL_BYTES)):
        quoted = line.split('"')[1::2]
        names = '"'.join(quoted)
        if names in settled:  # five times faster than parsing thousands of lines that add nothing
            continue
        metrics = _parsed(line)
        if metrics is None:
            continue
        for name, value in metrics.items():
            if value is not None and name and not name.startswith("_"):
                last.setdefault(name, value)
        # With as many quoted words as names, all of them are names. A line with the same words adds none.
        if len(quoted) == len(metrics) and None not in metrics.values():
            settled.add(names)
    return last


def _lines(path: str, most_bytes: int | None) -> list[str]:
    from duckrow.kernel.plain_files import open_plain  # here: training scripts load this module, but read nothing

    try:
        with open_plain(path) as file:
            skipped = 0 if most_bytes is None else max(file.seek(0, os.SEEK_END) - most_bytes, 0)
            file.seek(skipped)
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    if skipped:
        del lines[0]  # its beginning is missing
    elif lines[0].startswith("\ufeff"):
        lines[0] = lines[0][1:]
    return lines


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        metrics = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(metrics, dict):
        return None
    return {name: _NOT_FINITE.get(value, value) if isinstance(value, str) else value for name, value in metrics.items()}
