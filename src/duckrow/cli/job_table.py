"""Jobs as lines of a table."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.api.views import JobView, devices_text
from duckrow.cli.console import OUTCOME_COLOURS, print_table
from duckrow.core.job import shorten
from duckrow.core.units import format_duration

HEADER = ("ID", "NAME", "STATE", "WHERE", "TIME", "EXIT", "COMMAND")


def status_of(view: JobView) -> str:
    return view.outcome or view.state


def exit_text(exit_code: int | None, signal: int | None) -> str:
    if signal is not None:
        return f"sig {signal}"
    return "" if exit_code is None else str(exit_code)


def print_jobs(views: Sequence[JobView], show_project: bool = False) -> None:
    rows = [
        (
            str(view.id),
            f"{view.project}/{view.name}" if show_project else view.name,
            status_of(view) + (f" (try {view.attempts})" if view.attempts > 1 else ""),
            devices_text(view.devices),
            "" if view.duration_s is None else format_duration(view.duration_s),
            exit_text(view.exit_code, view.signal) if view.outcome else "",
            shorten(view.command, 200),
        )
        for view in views
    ]
    print_table(HEADER, rows, [OUTCOME_COLOURS[status_of(view)] for view in views])
