"""Jobs as lines of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from duckrow.api.queue.views import JobView, devices_text, exit_text
from duckrow.cli.console import OUTCOME_COLOURS, LongTable, print_table, table_lines
from duckrow.core.units import format_duration, format_mb

DEFAULT_COLUMNS = ("id", "name", "state", "where", "time", "exit", "command")


def status_of(view: JobView) -> str:
    return view.outcome or view.state


def eta_text(eta_s: float | None) -> str:
    if eta_s is None:
        return ""
    return "any moment" if eta_s <= 0 else f"~{format_duration(eta_s)}"


def state_text(view: JobView) -> str:
    if view.run_ended:
        return f"{view.state} (run ended)"
    if view.held:
        return f"{view.state} (held)"
    if view.suspended:
        return f"{view.state} (suspended)"
    return status_of(view) + (f" (try {view.attempts})" if view.attempts > 1 else "")


def clock_text(at: float) -> str:
    """The time if it is today, else with the date."""
    moment, today = time.localtime(at), time.localtime()
    form = "%H:%M:%S" if moment[:3] == today[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, moment)


def _since(view: JobView) -> str:
    return clock_text(view.ended_at or (None if view.state == "queued" else view.started_at) or view.created_at)


CELLS: dict[str, Callable[[JobView], str]] = {
    "id": lambda view: str(view.id),
    "name": lambda view: view.full_name,
    "state": state_text,
    "where": lambda view: devices_text(view.devices),
    "pid": lambda view: "" if view.pid is None else str(view.pid),
    "since": _since,
    "time": lambda view: "" if view.duration_s is None else format_duration(view.duration_s),
    "eta": lambda view: eta_text(view.eta_s),
    "memory": lambda view: "" if view.peak_memory_mb is None else format_mb(view.peak_memory_mb),
    "busy": lambda view: "" if view.utilization is None else f"{view.utilization:.0f}%",
    "gpu-time": lambda view: format_duration(view.gpu_seconds) if view.gpu_seconds else "",
    "exit": lambda view: exit_text(view.exit_code, view.signal) if view.outcome else "",
    "attempts": lambda view: str(view.attempts),
    "priority": lambda view: str(view.priority),
    "project": lambda view: view.project,
    "sweep": lambda view: view.sweep or "",
    "host": lambda view: view.host,
    "command": lambda view: " ".join(view.title.split()),
    "log": lambda view: view.log or "",
    "detail": lambda view: view.detail,
}


def print_jobs(views: Sequence[JobView], show_project: bool = False) -> None:
    header, rows, colours = _table(views, default_columns(views), show_project)
    print_table(header, rows, colours)


def job_lines(views: Sequence[JobView], columns: Sequence[str] = ()) -> list[str]:
    """The table; without `columns`, those that are useful here."""
    return table_lines(*_table(views, *_shape(views, columns)))


def lines_of_many(
    slices: Iterable[Sequence[JobView]], examples: Sequence[JobView], columns: Sequence[str] = ()
) -> Iterator[str]:
    """The table, slice by slice. `examples`: jobs from all parts of it, which say what is useful and how wide it is."""
    shape = _shape(examples, columns)
    header, rows, _ = _table(examples, *shape)
    table = LongTable(header)
    table.make_room(rows)
    for views in slices:
        _, rows, colours = _table(views, *shape)
        yield from table.lines(rows, colours)


def _shape(examples: Sequence[JobView], columns: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The columns, and whether names are shown with their project."""
    show_project = not columns and len({view.project for view in examples}) > 1
    return columns or default_columns(examples), show_project


def default_columns(views: Sequence[JobView]) -> list[str]:
    """There is an ETA column only if some job has an ETA."""
    columns = list(DEFAULT_COLUMNS)
    if any(view.eta_s is not None for view in views):
        columns.insert(columns.index("time") + 1, "eta")
    return columns


def _table(
    views: Sequence[JobView], columns: Sequence[str], show_project: bool
) -> tuple[list[str], list[list[str]], list[str]]:
    cells = {**CELLS, "name": lambda view: f"{view.project}/{view.full_name}"} if show_project else CELLS
    rows = [[cells[column](view) for column in columns] for view in views]
    return [column.upper() for column in columns], rows, [OUTCOME_COLOURS[status_of(view)] for view in views]
