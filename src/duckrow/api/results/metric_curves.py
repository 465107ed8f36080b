"""The metrics of a run over time: one point per report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.job_details import check_job
from duckrow.api.results.metrics import FILE_NAME, last_metrics, read_metrics
from duckrow.core.sweeps.results import number_of

_METRIC_BYTES = 8 << 20  # the end of a run's file
_MOST_METRICS = 200
_STEPS = ("step", "global_step", "iteration", "epoch")

Point = tuple[float, float]  # (step, value); a value may be NaN or infinite, a step never is


def curve_of_metric(folder: str, metric: str, max_points: int) -> list[Point]:
    return _thinned(_points(_reported_in(folder), metric), max_points)


def metrics_of(client: Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """The last value of each metric that this job has reported."""
    return last_metrics(f"{_folder_of(client, job)}/{FILE_NAME}")


def _folder_of(client: Client, job: Mapping[str, Any]) -> str:
    return str(job["folder"] or client.folder.run_folder(job["project"], job["name"], job["id"]))


def curves_of_job(client: Client, job_id: int, max_points: int) -> dict[str, Any]:
    """Each metric of this job, with its last value; a text has no curve."""
    check_job(client, job_id)
    reported = _reported_in(_folder_of(client, client.job(job_id).as_json()))
    last: dict[str, Any] = {}
    for line in reported:
        last.update((name, value) for name, value in line.items() if value is not None and not name.startswith("_"))
    items = [
        {"metric": name, "last": value, "points": _thinned(_points(reported, name), max_points)}
        for name, value in list(last.items())[:_MOST_METRICS]
    ]
    return {"items": items, "truncated": len(last) > _MOST_METRICS}


def _reported_in(folder: str) -> list[dict[str, Any]]:
    return read_metrics(f"{folder}/{FILE_NAME}", _METRIC_BYTES)


def _points(reported: Iterable[Mapping[str, Any]], metric: str) -> list[Point]:
    points: list[Point] = []
    for line in reported:
        value = number_of(line.get(metric))
        if value is not None:
            points.append((_step_of(line, metric, len(points)), value))
    return points


def _step_of(line: Mapping[str, Any], metric: str, place: int) -> float:
    """The step that the run reports, else the number of the report."""
    for name in _STEPS:
        step = number_of(line.get(name)) if name != metric else None
        if step is not None and math.isfinite(step):
            return step
    return place


def _thinned(points: list[Point], most: int) -> list[Point]:
    step = -(-len(points) // most) or 1
    return points if step == 1 else [*points[:-1:step], points[-1]]
