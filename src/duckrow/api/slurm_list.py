"""The batches as a list, and finding one: by its name, or by its folder on another login node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from duckrow.api.cluster_standing import groups_in_words, jobs_in_words
from duckrow.api.settings import Settings
from duckrow.api.slurm import read_request, root_of
from duckrow.core.errors import UsageError
from duckrow.core.lifecycle import Outcome, State
from duckrow.engines.slurm.batch import Batch
from duckrow.engines.slurm.files import names
from duckrow.store.batches import BatchStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.hosts import HostRow


def find_batch(client: Client, name: str) -> HostRow:
    """The newest batch of that name."""
    found = [host for host in BatchStore(client.database).batches() if host.name == name]
    if not found:
        raise UsageError(f"There is no batch '{name}'. `duckrow batches` shows all; or name the folder of one.")
    return found[-1]


def adopt_batch(client: Client, folder: str) -> str:
    """Make a copy of a batch that was submitted elsewhere; its name. Its runs get ids of this machine."""
    batch = Batch(folder)
    store = BatchStore(client.database)
    if all(host.source != folder for host in store.batches()):
        for run in batch.runs:
            run.spec.folder = batch.run_folder(run)
            run.spec.point = None  # the sweep is known where it was begun
        with client.database.transaction():
            host_id = store.add(batch.name, folder)
            store.add_runs(host_id, [run.spec for run in batch.runs], batch.environment())
        client.batches.copy()
    return batch.name


def unknown_batches(client: Client) -> list[str]:
    """The folders of batches that another login node has submitted, where batches of ours are kept."""
    batches = BatchStore(client.database).batches()
    known = {host.source for host in batches}
    requests = [read_request("slurm", {}), *(read_request(name, {}) for name in Settings().slurm_profiles())]
    roots = dict.fromkeys([*map(root_of, requests), *(os.path.dirname(host.source) for host in batches)])
    folders = [f"{root}/{name}" for root in roots for name in names(root)]
    return [folder for folder in folders if folder not in known and os.path.exists(f"{folder}/batch.json")]


def start_batch(client: Client, batch: HostRow) -> list[str]:
    """Submit what is missing, also where somebody has cancelled everything; the SLURM jobs."""
    return client.batches.start(batch.id)


def batch_rows(client: Client, only: HostRow | None = None) -> list[dict[str, Any]]:
    store = BatchStore(client.database)
    hosts = store.batches() if only is None else [only]
    return [_row(store, host) for host in hosts]


def _row(store: BatchStore, host: HostRow) -> dict[str, Any]:
    runs = store.runs(host.id)
    done = [run for run in runs if run.state is State.DONE]
    standing = store.standings().get(host.id)
    return {
        "name": host.name,
        "folder": host.source,
        "runs": len(runs),
        "running": sum(run.state not in (State.QUEUED, State.DONE) for run in runs),
        "done": len(done),
        "failed": sum(run.outcome != Outcome.SUCCEEDED for run in done),
        "jobs": jobs_in_words(standing),
        "requests": groups_in_words(standing),
        "still": standing.still if standing is not None else "",
    }
