"""Metrics reported from outside, for a run that cannot call `duckrow.report` itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.job_details import check_job
from duckrow.api.results.metrics import FILE_NAME, note_metrics
from duckrow.core.errors import ConflictError, DuckrowError, UsageError


def report_for(client: Client, job_id: int, metrics: Mapping[str, Any]) -> None:
    """Record metrics for this job, as if it had reported them itself."""
    check_job(client, job_id)
    if not metrics:
        raise UsageError('Say what to report: {"loss": 0.3, "step": 10}.')
    for name, value in metrics.items():
        if not name.strip() or not isinstance(value, str | int | float | bool):
            raise UsageError(f"'{name[:100]}' is not a metric: each has a name, and a number, a string, true or false.")
    view = client.job(job_id)
    folder = view.folder or client.folder.run_folder(view.project, view.name, view.id)
    if not os.path.isdir(folder):
        raise ConflictError(f"Job {job_id} has no folder yet: it has not started. Report when it runs.")
    if not note_metrics(f"{folder}/{FILE_NAME}", dict(metrics)):
        raise DuckrowError(f"The metrics could not be written to {folder}/{FILE_NAME}. Is the disk full?")
