"""Reads a trace: a CSV with the columns of public traces, or what `duckrow ls --json` prints."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from duckrow.core.devices.device import Device
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.simulation.trace_job import TraceJob
from duckrow.core.units import parse_duration_s, parse_size_mb

COLUMNS = {
    "submit": ("submit", "submit_time", "submitted_time", "submitted_at", "arrival_time", "created_at"),
    "duration": ("duration", "duration_s", "run_time", "runtime", "run_time_s"),
    "start": ("start", "start_time", "started_at"),
    "end": ("end", "end_time", "ended_at", "finished_time"),
    "gpus": ("gpus", "gpu_num", "num_gpus", "num_gpu", "gpu_count"),
    "gpu percent": ("plan_gpu",),
    "memory": ("memory", "memory_mb", "gpu_mem", "gpu_memory", "peak_memory_mb"),
    "command": ("command", "job_name", "name", "group"),
}
"""What a column means, and what traces call it: duckrow's own log, Alibaba PAI, Helios, Philly as a table."""

_MOST_GPUS = 4096


class ReadTrace(NamedTuple):
    jobs: list[TraceJob]  # the first to come is first
    left_out: int  # jobs that did not succeed, did not run, or had no GPU


def read_trace(text: str, name: str, gpu_mb: int) -> ReadTrace:
    """`name`: of the file, for messages. `gpu_mb`: of a GPU, for traces that count in percent of one."""
    rows = list(_json_rows(text, name) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text, name))
    jobs = [job for where, row in rows if row is not None for job in _jobs(row, where, gpu_mb)]
    if not jobs:
        raise UsageError(f"{name} has no finished job to simulate.")
    first = min(job.comes_at for job in jobs)
    return ReadTrace(sorted(job._replace(comes_at=job.comes_at - first) for job in jobs), len(rows) - len(jobs))


def _csv_rows(text: str, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    reader = csv.reader(text.splitlines())
    try:
        header = next(reader, [])
        meanings = _meanings(header, name)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{name}, line {reader.line_num}"
            if len(cells) != len(header):
                raise UsageError(f"{where}: {len(cells)} columns, but the first line names {len(header)}.")
            row = dict(zip(header, cells, strict=True))
            yield where, {meaning: row[column].strip() for meaning, column in meanings.items()}
    except csv.Error as error:
        raise UsageError(f"{name}, line {reader.line_num}: not a CSV file: {error}.") from None


def _json_rows(text: str, name: str) -> Iterator[tuple[str, dict[str, str] | None]]:
    """None for a job that has not succeeded."""
    try:
        read = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name} is neither a CSV nor JSON: {error}.") from None
    listed = read if isinstance(read, list) else read.get("jobs", read.get("items"))
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise UsageError(f"{name} is not a list of jobs. Write one with: duckrow ls --all --json > trace.json")
    meanings = _meanings(sorted({key for row in listed for key in row}), name) if listed else {}
    for number, row in enumerate(listed, start=1):
        has_succeeded = row.get("outcome") in (None, "succeeded") and _has_ended(row)
        told = {meaning: _cell(row.get(column)) for meaning, column in meanings.items()} if has_succeeded else None
        if told and not told.get("gpus") and row.get("devices"):  # it had asked for any device
            told["gpus"] = str(sum(Device(str(device)).is_gpu for device in row["devices"]))
        yield f"{name}, job {row.get('id', number)}", told


def _has_ended(row: Mapping[str, Any]) -> bool:
    return row.get("state", "done") == "done" and row.get("duration_s", row.get("duration", 0)) is not None


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _meanings(header: Sequence[str], name: str) -> dict[str, str]:
    """Which column has which meaning."""
    written = {column.strip().lower(): column for column in header}
    found = {
        meaning: next(written[known] for known in names if known in written)
        for meaning, names in COLUMNS.items()
        if any(known in written for known in names)
    }
    if "duration" not in found and not {"start", "end"} <= found.keys():
        if len(header) == 1 and re.search("[;\t|]", header[0]):
            raise UsageError(f"{name}, line 1: separate the columns by commas, not like this: {header[0]}")
        raise UsageError(
            f"{name}, line 1: no column says how long jobs ran. It needs one of {', '.join(COLUMNS['duration'])}, "
            f"or start_time and end_time. Its columns: {', '.join(header) or 'none'}."
        )
    return found


def _jobs(row: Mapping[str, str], where: str, gpu_mb: int) -> Iterator[TraceJob]:
    """Nothing for one that never ran, or had no GPU."""
    run_s = _run_s(row, where)
    if run_s is None or run_s <= 0:
        return
    comes_at = _moment(row.get("submit", "") or row.get("start", "") or "0", where, "submit")
    assert comes_at is not None
    percent = row.get("gpu percent", "")
    if percent:
        share = _number(percent, where, "plan_gpu") / 100
        gpus, memory = max(math.ceil(share), 1), math.ceil(share * gpu_mb) if 0 < share < 1 else None
    else:
        gpus, memory = _gpus(row.get("gpus", "") or "1", where), _memory(row.get("memory", ""), where)
    if not 0 <= gpus <= _MOST_GPUS:
        raise UsageError(f"{where}: {gpus} GPUs are not possible.")
    if gpus:  # jobs without a GPU do not compete for one
        yield TraceJob(comes_at, run_s, gpus, memory, row.get("command", "").strip() or "./job")


def _run_s(row: Mapping[str, str], where: str) -> float | None:
    written = row.get("duration", "")
    if written:
        try:
            return parse_duration_s(written)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    start, end = (_moment(row.get(name, ""), where, name) for name in ("start", "end"))
    if start is None or end is None:
        return None
    if end < start:
        raise UsageError(f"{where}: it ends before it starts.")
    return end - start


def _moment(written: str, where: str, what: str) -> float | None:
    """Seconds, or a date and time."""
    if not written:
        return None
    if re.fullmatch(r"-?\d+(\.\d*)?(e[+-]?\d+)?", written):
        return float(written)
    try:
        moment = datetime.fromisoformat(written.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(
            f"{where}: '{written}' is not a time for {what}. Write seconds or 2026-01-31 18:00:00."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def _number(written: str, where: str, what: str) -> float:
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise UsageError(f"{where}: '{written}' is not a number for {what}.")
    return number


def _gpus(written: str, where: str) -> int:
    number = _number(written, where, "gpus")
    if number != int(number):
        raise UsageError(
            f"{where}: {written} GPUs are not possible. For a part of a GPU, name the column plan_gpu (50)."
        )
    return int(number)


def _memory(written: str, where: str) -> int | None:
    if not written:
        return None
    try:
        return parse_size_mb(str(math.ceil(float(written))) if re.fullmatch(r"\d+\.\d+", written) else written) or None
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
