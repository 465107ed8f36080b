"""Continues a batch: runs that have not succeeded run again, in it or, with another request, in a new batch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duckrow.api.clusters.submit import read_request, submit_batch
from duckrow.api.jobs.kill import kill_abandoned
from duckrow.api.jobs.rerun import put_back
from duckrow.clusters.batch import Batch
from duckrow.core.errors import UsageError
from duckrow.core.life.states import Outcome, State
from duckrow.store.batches import BatchRow, BatchStore

if TYPE_CHECKING:
    from duckrow.api.client import Client


def resume_batch(client: Client, on: str, asked: Mapping[str, Any], file: str | None, name: str | None) -> list[int]:
    """Returns the runs to wait for. `asked`: the new request for each cluster job; empty: the earlier one."""
    row = _find(client, file, name)
    client.tender.submit()
    runs = BatchStore(client.database).runs(row.id)
    again = [run.job_id for run in runs if run.state is State.DONE and run.outcome != Outcome.SUCCEEDED]
    waiting = [run.job_id for run in runs if run.state is not State.DONE]
    if asked and (again or waiting):
        given_up = kill_abandoned(client, waiting)
        batch = Batch(row.folder)
        request = replace(read_request(on, asked), folder=os.path.dirname(batch.folder))
        ended = [*again, *given_up]
        submit_batch(client, [], request, name=batch.name, again=ended, file=batch.file)
        return sorted([*ended, *(job_id for job_id in waiting if job_id not in given_up)])
    if again:
        put_back(client, again)
    if waiting:
        client.batches.go_on([row.id])
        client.tender.submit()
    return sorted([*again, *waiting])


def _find(client: Client, file: str | None, name: str | None) -> BatchRow:
    """The newest batch of that name, or of that file of commands."""
    path = None if file is None else os.path.abspath(file)
    for row in reversed(BatchStore(client.database).all()):
        if row.name == name or (path is not None and os.path.exists(row.folder) and Batch(row.folder).file == path):
            return row
    what = f"'{name}'" if name is not None else f"of {file}"
    raise UsageError(f"There is no batch {what} to resume. `duckrow batches` shows all. Omit --resume to start one.")
