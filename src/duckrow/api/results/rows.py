"""Gathers the rows of a sweep's results from the database and the folders of its runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from duckrow.api.queue.views import job_view
from duckrow.api.results.metrics import FILE_NAME, last_metrics
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.sweeps.results import Row, name_columns
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines
from duckrow.store.jobs.listing import ListingStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView

FIRST_COLUMNS = ("id", "name", "state")
LAST_COLUMNS = (
    "time_s",
    "peak_memory_mb",
    "utilization",
    "gpu_seconds",
    "attempts",
    "exit_code",
    "signal",
    "folder",
    "log",
)
PARAMETER, METRIC = "param.", "metric."  # prefixes for a name that another column has


class Gathered(NamedTuple):
    rows: list[Row]  # each with all the columns
    parameters: list[str]  # the columns of parameters
    metrics: list[str]  # the columns of metrics


def gather(client: Client, sweep_id: int) -> Gathered:
    """Takes one query for all runs, and one file for each."""
    now = time.time()
    views = [job_view(row, now) for row in ListingStore(client.database).jobs(Filter(sweep_id=sweep_id))]
    folders = [view.folder or client.folder.run_folder(view.project, view.name, view.id) for view in views]
    metrics = [last_metrics(f"{folder}/{FILE_NAME}") for folder in folders]
    taken = [*FIRST_COLUMNS, *LAST_COLUMNS]
    of_parameter = name_columns(taken, (name for view in views for name in view.parameters or {}), PARAMETER)
    taken += of_parameter.values()
    of_metric = name_columns(taken, (name for reported in metrics for name in reported), METRIC)
    rows = [
        {
            "id": view.id,
            "name": view.name,
            "state": view.outcome or view.state,
            **{column: (view.parameters or {}).get(name) for name, column in of_parameter.items()},
            **{column: reported.get(name) for name, column in of_metric.items()},
            **_how_it_went(view, folder),
        }
        for view, folder, reported in zip(views, folders, metrics, strict=True)
    ]
    return Gathered(rows, list(of_parameter.values()), list(of_metric.values()))


def _how_it_went(view: JobView, folder: str) -> Row:
    return {
        "time_s": view.duration_s,
        "peak_memory_mb": view.peak_memory_mb,
        "utilization": view.utilization,
        "gpu_seconds": view.gpu_seconds,
        "attempts": view.attempts,
        "exit_code": view.exit_code,
        "signal": view.signal,
        "folder": folder,
        "log": view.log,
    }


def what_went_wrong(row: Row) -> str:
    """The last line of the log. For a run that was ended from outside, how: its log does not say that."""
    if row["state"] != Outcome.FAILED:
        return str(row["state"])
    said = last_lines(row["log"], 1, longest=LINE_SHOWN) if row["log"] else []
    if said:
        return said[-1]
    end = f"signal {row['signal']}" if row["signal"] is not None else f"exit {row['exit_code']}"
    return f"({end}, no output)"
