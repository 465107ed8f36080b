"""Several commands look at one batch at the same time: all of them hear what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.core.job import JobSpec
from duckrow.core.slurm_request import SlurmRequest
from duckrow.engines.slurm.batch import Batch, create_batch
from duckrow.engines.slurm.claims import Claims
from duckrow.engines.slurm.pilots import PilotFolder
from duckrow.store.batches import BatchStore
from duckrow.store.folder import Folder

RUNNING = {"number": 1, "started_at": 5.0, "devices": ["cpu"], "pid": 1, "log": "x", "stopping": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Of a login node; SLURM has nothing to do with this."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return Folder(str(tmp_path / "state")).make()


@pytest.fixture
def batch(folder: Folder, tmp_path: Path) -> Batch:
    client, place = Client(folder), str(tmp_path / "batch")
    specs = [JobSpec("true", "/") for _ in range(2)]
    with client.database.transaction():
        store = BatchStore(client.database)
        ids = store.add_runs(store.add("batch", place), specs, {})
    return create_batch(place, specs, ids, SlurmRequest(), {}, "python3")


def news_of(client: Client) -> list[int]:
    client.batches.refresh()
    news = sorted(client.batches.news)
    client.batches.news.clear()
    return news


def test_what_one_command_has_seen_first_the_others_hear_too(folder: Folder, batch: Batch) -> None:
    clients = [Client(folder), Client(folder)]
    assert [news_of(client) for client in clients] == [[], []]
    pilot, claims = PilotFolder(batch, "1_0"), Claims(batch)
    for run in (0, 1):
        claims.take(pilot.card, run)
    pilot.renew({"running": {"0": {**RUNNING, "claim": 1}}})
    assert [news_of(client) for client in clients] == [[1], [1]]
    claims.finish(0, 1, {"outcome": "succeeded"})
    assert [news_of(client) for client in clients] == [[1], [1]]
    assert [news_of(client) for client in clients] == [[], []]


def test_the_end_of_a_batch_is_heard_by_those_who_did_not_see_it_first(folder: Folder, batch: Batch) -> None:
    clients = [Client(folder), Client(folder)]
    assert [news_of(client) for client in clients] == [[], []]
    pilot, claims = PilotFolder(batch, "1_0"), Claims(batch)
    for run in (0, 1):
        claims.take(pilot.card, run)
        claims.finish(run, 1, {"outcome": "succeeded"})
    assert [news_of(client) for client in clients] == [[1, 2], [1, 2]]
    assert not BatchStore(clients[0].database).any_open()
