"""A sweep for its page: its runs with parameters and metrics, curves of a metric, failures by error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.listing import OUTCOMES
from duckrow.api.results.metric_curves import curve_of_metric
from duckrow.api.results.results import UNSUCCESSFUL, Results, results
from duckrow.api.results.rows import METRIC
from duckrow.api.sweeps.listing import list_sweeps
from duckrow.core.errors import UsageError

MOST_ROWS = 5000
MOST_SERIES = 500


def sweep_list(client: Client) -> dict[str, Any]:
    """All sweeps, newest first."""
    return {"items": [_listed(sweep) for sweep in reversed(list_sweeps(client))]}


def _listed(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """`failed` counts all runs that did not succeed, whatever their outcome."""
    kinds = {"succeeded": "succeeded", "failed": "failed", "running": "running", "queued": "waiting"}
    counts = {kind: sweep[column] for kind, column in kinds.items() if sweep[column]}
    return {**sweep, "total": sweep["runs"], "counts": counts}


def sweep_details(client: Client, word: str) -> dict[str, Any]:
    found = results(word, client=client)
    of_sweep = next((sweep for sweep in list_sweeps(client) if sweep["id"] == found.sweep.id), {})
    vary = found.varying()
    return {
        **_listed(of_sweep),
        "counts": _counts(row["state"] for row in found),
        "columns": found.columns,
        "parameters": [*vary, *(name for name in found.parameters if name not in vary)],
        "varying": vary,
        "metrics": found.metrics,
        "rows": [_row(row, found) for row in found[:MOST_ROWS]],
        "truncated": len(found) > MOST_ROWS,
        "failures": [{"text": group.error, "count": len(group.ids), "ids": group.ids} for group in found.failures()],
    }


def _counts(statuses: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for status in statuses:
        counts[status] = counts.get(status, 0) + 1
    return counts


def _row(row: Mapping[str, Any], found: Results) -> dict[str, Any]:
    is_done = row["state"] in OUTCOMES
    return {
        "job": row["id"],
        "name": row["name"],
        "state": "done" if is_done else row["state"],
        "outcome": row["state"] if is_done else None,
        "parameters": {name: row[name] for name in found.parameters},
        "metrics": {name: row[name] for name in found.metrics},
        "duration_s": row["time_s"],
        "peak_memory_mb": row["peak_memory_mb"],
        "attempts": row["attempts"],
        "exit_code": row["exit_code"],
    }


def metric_series(client: Client, word: str, metric: str, max_points: int) -> dict[str, Any]:
    """A metric over time in each run: by step if the run reports one, else by the number of the report."""
    found = results(word, client=client)
    name = metric.removeprefix(METRIC) if metric not in found.metrics else metric
    reported = name.removeprefix(METRIC)
    series = [
        {"job": row["id"], "name": row["name"], "points": points}
        for row in found[:MOST_SERIES]
        if (points := curve_of_metric(row["folder"], reported, max_points))
    ]
    return {"metric": metric, "series": series, "truncated": len(found) > MOST_SERIES}


def runs_to_repeat(client: Client, word: str, ids: Sequence[int] | None, failure: str | None) -> list[int]:
    """These runs of a sweep, those that failed with this error, or all that did not succeed."""
    found = results(word, client=client)
    if ids is not None:
        unknown = set(ids) - {row["id"] for row in found}
        if unknown:
            raise UsageError(f"Job {min(unknown)} is not part of the sweep '{found.sweep.name}'.")
        return list(ids)
    if failure is None:
        return [row["id"] for row in found if row["state"] in UNSUCCESSFUL]
    groups = [group for group in found.failures() if group.error == failure]
    if not groups:
        raise UsageError("No run of the sweep failed with this error (any more).")
    return groups[0].ids
