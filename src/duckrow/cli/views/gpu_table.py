"""The GPUs as lines: a memory bar for each, with its jobs and other processes below."""

from __future__ import annotations

import sys
from typing import Any

from duckrow.cli.console import clean, display_width, fit, paint, table_lines, terminal_width
from duckrow.core.devices.device import Device
from duckrow.core.jobs.job import shorten
from duckrow.core.jobs.title import title_of
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import format_duration, format_mb, plural

DeviceRow = dict[str, Any]
_ASCII, _BLOCKS = ("#", "+", "."), ("█", "▓", "░")  # our jobs, others, free
_COLOURS = ("cyan", "yellow", "dim")


class Span(NamedTuple):
    text: str
    colour: str = ""


def gpu_lines(devices: list[DeviceRow]) -> list[str]:
    """GPUs with a reading as bars; the others, if any, as a table."""
    read = [device for device in devices if _is_read(device)]
    if not read:
        return device_lines(devices)
    width = terminal_width() if sys.stdout.isatty() else 10_000
    layout = _Layout(read, width)
    lines = [_line(spans, width) for device in read for spans in layout.spans_of(device)]
    rest = [device for device in devices if not _is_read(device) and (device["jobs"] or not _is_cpu(device))]
    if rest:
        lines += ["", *device_lines(rest)]
    slots = [device for device in devices if _is_cpu(device)]
    if slots:
        free = sum(not device["jobs"] for device in slots)
        lines += ["", fit(f"{free} of {plural(len(slots), 'CPU slot')} free", width)]
    return [paint(layout.header, "bold", sys.stdout), *lines]


def device_lines(devices: list[DeviceRow]) -> list[str]:
    """A line for each job on each device."""
    rows = [
        (
            device["device"],
            device["host"],
            (f"{round(job['share'] * 100)}%" if job else "" if _out_of_use(device) else "free")
            + (f" {_out_of_use(device)}" if _out_of_use(device) else "")
            + (" suspended" if job and job["suspended"] else ""),
            str(job["id"]) if job else "",
            format_duration(job["for_s"]) if job else "",
            shorten(title_of(job["command"]), 200) if job else "",
        )
        for device in devices
        for job in (device["jobs"] or [None])
    ]
    why = [_set_aside(device) for device in devices if device["set_aside"]]
    return [*table_lines(("DEVICE", "HOST", "HELD", "JOB", "FOR", "COMMAND"), rows), *why] if rows else []


def _out_of_use(device: DeviceRow) -> str:
    """Why it gets no new job, in a word or two."""
    return "set aside" if device["set_aside"] else "drained" if device["drained"] else ""


def _set_aside(device: DeviceRow) -> str:
    gpu = device["device"]
    return f"GPU {gpu} is set aside: {clean(device['set_aside'])}. To use it again: duckrow gpus add {gpu}"


def _is_read(device: DeviceRow) -> bool:
    return device["free_mb"] is not None or device["problem"] is not None


def _is_cpu(device: DeviceRow) -> bool:
    return Device(device["device"]).is_cpu_slot


class _Layout:
    """The columns that fit, the same for all GPUs."""

    def __init__(self, devices: list[DeviceRow], width: int) -> None:
        self._bar = 24 if width >= 100 else 16 if width >= 80 else 8 if width >= 56 else 0
        self._busy_bar = 10 if width >= 100 else 0
        blocks = sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf")
        self._signs = _BLOCKS if blocks else _ASCII
        figures = [_figures(device) for device in devices]
        model = max((display_width(clean(device["model"] or "")) for device in devices), default=0)
        self._name = max(3, *(len(device["device"]) for device in devices)) if width >= 56 else 3
        self._model = max(model, len("MODEL")) if width >= 80 and model else 0
        self._memory = max(len("MEMORY"), *map(len, figures)) + (self._bar + 3 if self._bar else 0)
        self._busy = (self._busy_bar + 3 if self._busy_bar else 0) + 4
        cells = [("GPU", self._name), ("MODEL", self._model), ("MEMORY", self._memory), ("BUSY", self._busy)]
        cells += [("TEMP", 4), ("HOST", 4)]
        self.header = fit("  ".join(f"{text:{size}}" for text, size in cells if size), width)

    def spans_of(self, device: DeviceRow) -> list[list[Span]]:
        why = [[Span(" " * 5), Span(_set_aside(device), "red")]] if device["set_aside"] else []
        return [self._gpu(device), *why, *([Span(" " * 5), *who] for who in _tenants(device))]

    def _gpu(self, device: DeviceRow) -> list[Span]:
        spans = [Span(fit(device["device"], self._name).ljust(self._name) + "  ")]
        if self._model:
            spans.append(Span(_padded(clean(device["model"] or ""), self._model) + "  "))
        if device["free_mb"] is None:
            told = str(device["problem"] or "is being read").removeprefix("it ")
            spans.append(Span(f"{told:{self._memory + self._busy + 8}}", "red"))
        else:
            spans += [*self._memory_of(device), *self._busy_of(device), Span(f"{_degrees(device):>4}  ")]
        where = ", ".join(filter(None, [device["host"], _out_of_use(device)]))
        return [*spans, Span(where, "yellow" if _out_of_use(device) else "")]

    def _memory_of(self, device: DeviceRow) -> list[Span]:
        total = device["total_mb"]
        used = total - device["free_mb"]
        figures = _figures(device)
        if not self._bar:
            return [Span(f"{figures:{self._memory}}  ")]
        own = min(sum(job["used_mb"] or 0 for job in device["jobs"]), used)
        sizes = _cells((own, used - own), total, self._bar)
        parts = [Span(sign * size, colour) for sign, size, colour in zip(self._signs, sizes, _COLOURS, strict=True)]
        return [Span("["), *parts, Span("] "), Span(f"{figures:{self._memory - self._bar - 3}}  ")]

    def _busy_of(self, device: DeviceRow) -> list[Span]:
        busy = device["utilization"]
        text = "?" if busy is None else f"{busy}%"
        if not self._busy_bar:
            return [Span(f"{text:>4}  ")]
        full, _, free = _cells((busy or 0, 0), 100, self._busy_bar)
        return [
            Span("["),
            Span(self._signs[0] * full, "green"),
            Span(self._signs[2] * free, "dim"),
            Span(f"] {text:>4}  "),
        ]


def _figures(device: DeviceRow) -> str:
    if device["free_mb"] is None:
        return ""
    return f"{format_mb(device['total_mb'] - device['free_mb'])}/{format_mb(device['total_mb'])}"


def _degrees(device: DeviceRow) -> str:
    return "?" if device["temperature"] is None else f"{device['temperature']}C"


def _cells(parts: tuple[int, int], total: int, width: int) -> tuple[int, int, int]:
    """How many cells of a bar each part gets, and the rest. A part of 1 percent or more gets at least one."""
    ends = [min(round(width * end / total), width) for end in (parts[0], parts[0] + parts[1])]
    if parts[0] * 100 >= total:
        ends = [max(end, 1) for end in ends]
    if parts[1] * 100 >= total:
        ends[1] = min(max(ends[1], ends[0] + 1), width)
    return ends[0], ends[1] - ends[0], width - ends[1]


def _tenants(device: DeviceRow) -> list[list[Span]]:
    """Who uses it: the jobs that hold it, and processes of others."""
    here = {job["id"] for job in device["jobs"]}
    strangers = [process for process in device["processes"] if process["job_id"] not in here]
    strangers.sort(key=lambda process: -(process["mb"] or 0))
    return [*map(_job, device["jobs"]), *map(_stranger, strangers)]


def _job(job: dict[str, Any]) -> list[Span]:
    memory = f"{_mb(job['used_mb'])} of {_mb(job['reserved_mb'])}"
    pid = "" if job["pid"] is None else f", pid {job['pid']}"
    suspended = ", suspended" if job["suspended"] else ""
    what = clean(shorten(title_of(job["command"]), 200))
    return [
        Span(f"job {job['id']}", "cyan"),
        Span(f": {memory}, {format_duration(job['for_s'])}{pid}{suspended}: {what}"),
    ]


def _stranger(process: dict[str, Any]) -> list[Span]:
    if process["job_id"] is not None:
        whose = f"job {process['job_id']}, which was given another GPU"
    else:
        whose = process["user"] or "not seen from here"
        whose += " (ignored)" if process["ignored"] else ""
    program = f": {clean(process['program'])}" if process["program"] else ""
    return [Span(whose, "yellow"), Span(f": {_mb(process['mb'])}, pid {process['pid']}{program}")]


def _mb(mb: int | None) -> str:
    return "?" if mb is None else format_mb(mb)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def _line(spans: list[Span], width: int) -> str:
    """Cut the line to the width, then colour it."""
    line, left = "", width
    whole = "".join(span.text for span in spans).rstrip()
    if display_width(whole) <= width:
        return "".join(paint(span.text, span.colour, sys.stdout) for span in spans).rstrip()
    for span in spans:
        size = display_width(span.text)
        if size >= left:
            return line + paint(fit(span.text + "…", left), span.colour, sys.stdout)
        line, left = line + paint(span.text, span.colour, sys.stdout), left - size
    return line
