"""The batches as a list, and finding one: by its name, or by its folder on another login node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from duckrow.api.clusters.standing import groups_in_words, jobs_in_words
from duckrow.api.clusters.submit import read_request, root_of
from duckrow.api.machine.settings import Settings
from duckrow.clusters.batch import Batch
from duckrow.clusters.shared_files import names
from duckrow.core.errors import UsageError
from duckrow.core.life.states import Outcome, State
from duckrow.store.batches import BatchRow, BatchStore

if TYPE_CHECKING:
    from duckrow.api.client import Client


def find_batch(client: Client, name: str) -> BatchRow:
    """The newest batch of that name."""
    found = [row for row in BatchStore(client.database).all() if row.name == name]
    if not found:
        raise UsageError(f"There is no batch '{name}'. `duckrow batches` shows all; or name the folder of one.")
    return found[-1]


def adopt_batch(client: Client, folder: str) -> str:
    """Copy a batch that was submitted elsewhere; returns its name. Its runs get ids of this machine."""
    batch = Batch(folder)
    store = BatchStore(client.database)
    if all(row.folder != folder for row in store.all()):
        for run in batch.runs:
            run.spec.folder = batch.run_folder(run)
            run.spec.point = None  # only the machine where the sweep began knows it
        with client.database.transaction():
            batch_id = store.add(batch.name, folder)
            store.add_runs(batch_id, [run.spec for run in batch.runs], batch.environment())
        client.batches.copy()
    return batch.name


def unknown_batches(client: Client) -> list[str]:
    """The folders of batches from other login nodes, found beside our own batches."""
    batches = BatchStore(client.database).all()
    known = {row.folder for row in batches}
    requests = [read_request("slurm", {}), *(read_request(name, {}) for name in Settings().slurm_profiles())]
    roots = dict.fromkeys([*map(root_of, requests), *(os.path.dirname(row.folder) for row in batches)])
    folders = [f"{root}/{name}" for root in roots for name in names(root)]
    return [folder for folder in folders if folder not in known and os.path.exists(f"{folder}/batch.json")]


def start_batch(client: Client, batch: BatchRow) -> list[str]:
    """Submit missing cluster jobs, even if somebody has cancelled all of them; returns the new ones."""
    return client.batches.start(batch.id)


def batch_rows(client: Client, only: BatchRow | None = None) -> list[dict[str, Any]]:
    store = BatchStore(client.database)
    batches = store.all() if only is None else [only]
    return [_row(store, batch) for batch in batches]


def _row(store: BatchStore, batch: BatchRow) -> dict[str, Any]:
    runs = store.runs(batch.id)
    done = [run for run in runs if run.state is State.DONE]
    standing = store.standings().get(batch.id)
    return {
        "name": batch.name,
        "folder": batch.folder,
        "runs": len(runs),
        "running": sum(run.state not in (State.QUEUED, State.DONE) for run in runs),
        "done": len(done),
        "failed": sum(run.outcome != Outcome.SUCCEEDED for run in done),
        "jobs": jobs_in_words(standing),
        "requests": groups_in_words(standing),
        "still": standing.still if standing is not None else "",
    }
