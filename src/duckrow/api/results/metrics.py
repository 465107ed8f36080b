"""Metrics: what a run reports, a line of JSON at a time, and how it is read back."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes longer to load than all the rest, and training scripts load this
    from typing import Any

VARIABLE = "DUCKROW_METRICS"
FILE_NAME = "metrics.jsonl"

_TAIL_BYTES = 1 << 20  # of a longer file only so much of its end is looked at for the last values
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
    except Exception:  # a full disk, a folder that is gone, a value that cannot even be printed: see above
        return False


def _append(path: str, data: bytes) -> bool:
    """In one write, so that the lines of several processes never mix."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        return os.write(file, data) == len(data)
    finally:
        os.close(file)


def _plain(value: Any) -> Any:
    """What JSON can hold of a value. NaN goes in by name: the line is to be JSON for every reader."""
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
    """The number in a scalar or an array of one; anything else as text."""
    try:
        inner = value.item()
    except Exception:  # has no `item`, or more than one: whatever another library does then
        return str(value)
    return inner if isinstance(inner, (int, float, str, bool)) else str(inner)


# -- reading ----------------------------------------------------------------------------------------------------


def read_metrics(path: str, most_bytes: int | None = None) -> list[dict[str, Any]]:
    """All that a run has reported, oldest first. Lines that are broken, half written or no objects are left out.

    `most_bytes`: only so much of the end of the file.
    """
    return [metrics for line in _lines(path, most_bytes) if (metrics := _parsed(line)) is not None]


def last_metrics(path: str) -> dict[str, Any]:
    """The last value of each metric that is not null; names that begin with an underscore are left out.

    Of a file of more than a megabyte only the last megabyte counts (some 10,000 lines): the table of 200 long runs is
    to come at once. What is reported once, early, should be reported again at the end.
    """
    last: dict[str, Any] = {}
    settled: set[str] = set()
    for line in reversed(_lines(path, _TAIL_BYTES)):
        quoted = line.split('"')[1::2]
        names = '"'.join(quoted)
        if names in settled:  # five times quicker than to parse thousands of lines that add nothing
            continue
        metrics = _parsed(line)
        if metrics is None:
            continue
        for name, value in metrics.items():
            if value is not None and name and not name.startswith("_"):
                last.setdefault(name, value)
        # As many quoted words as names: all of them are names. A line with the same words has no other names.
        if len(quoted) == len(metrics) and None not in metrics.values():
            settled.add(names)
    return last


def _lines(path: str, most_bytes: int | None) -> list[str]:
    from duckrow.kernel.plain_files import open_plain  # here: training scripts load this module, and read nothing

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
