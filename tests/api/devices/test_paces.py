"""How many at a time are worth it: what you are told of the job that you look at, and of what runs on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.devices.paces import best_of_job, paces_of_running
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import JobSpec
from duckrow.core.schedule.pace import BestPace
from duckrow.store.batches import BatchStore
from duckrow.store.devices.paces import PaceStore
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from tests.store.shelf import Shelf

AUTO = Needs(auto=True, recipe="/code/train.py")
WORDS = "6 at a time: 3.1 x one at a time; more did not help"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """The daemon has two GPUs of different models; the pace of a script is known on one of them."""
    client = Client(Folder(str(tmp_path / "state")).make())
    seats = parse_gpus(["all"], all_gpus=["0", "1"])
    client.hosts.open(DAEMON, seats, Machine(dict.fromkeys("01", 24_000), models={"0": "RTX", "1": "GTX"}))
    with client.database.transaction():
        PaceStore(client.database).learn("/code/train.py", "RTX", BestPace(6, 12, 1, 3.14))
    yield client
    client.close()


def add(client: Client, needs: Needs) -> int:
    (job_id,) = Shelf(client.database).add("python train.py", gpus=1, needs=needs)
    return job_id


def device(name: str, model: str | None, *job_ids: int) -> dict[str, Any]:
    return {"device": name, "model": model, "jobs": [{"id": job_id} for job_id in job_ids]}


def test_a_job_is_told_what_is_known_of_its_script(client: Client) -> None:
    pace = best_of_job(client, add(client, AUTO), AUTO)
    assert pace is not None
    assert pace.words == WORDS


@pytest.mark.parametrize("needs", [Needs(auto=True, recipe="/code/other.py"), Needs(5000, recipe="/code/train.py")])
def test_nothing_is_told_of_another_script_or_where_the_user_gave_the_memory(client: Client, needs: Needs) -> None:
    assert best_of_job(client, add(client, needs), needs) is None


def test_nothing_is_told_of_a_run_on_a_cluster_whose_gpus_are_not_known(client: Client) -> None:
    with client.database.transaction():
        store = BatchStore(client.database)
        (run,) = store.add_runs(store.add("batch", "/there"), [JobSpec("python train.py", "/", gpus=1, needs=AUTO)], {})
    assert best_of_job(client, run, AUTO) is None


def test_gpus_say_it_once_for_each_script_that_runs_there(client: Client) -> None:
    shelf, jobs = Shelf(client.database), [add(client, AUTO) for _ in range(3)]
    for job_id in jobs[:2]:
        shelf.run(job_id, holds=(("0", 1000),))
    assert list(paces_of_running(client, [device("0", "RTX", *jobs[:2])])) == [f"train: {WORDS}"]
    assert not list(paces_of_running(client, [device("0", "RTX"), device("1", None, *jobs[:2])]))


def test_where_the_script_runs_on_several_models_the_sentence_names_the_model(client: Client) -> None:
    shelf, jobs = Shelf(client.database), [add(client, AUTO) for _ in range(2)]
    for job_id, gpu in zip(jobs, "01", strict=True):
        shelf.run(job_id, holds=((gpu, 1000),))
    here = [device("0", "RTX", jobs[0]), device("1", "GTX", jobs[1])]
    assert list(paces_of_running(client, here)) == [f"train on RTX: {WORDS}"]
