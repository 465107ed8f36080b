"""Runs for a cluster, on one whose jobs all wait: submitted, refused, resumed, adopted, listed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.clusters.dry_run import dry_groups
from duckrow.api.clusters.listing import adopt_batch, batch_rows, find_batch, unknown_batches
from duckrow.api.clusters.memory import PeaksFromBatch
from duckrow.api.clusters.resume import resume_batch
from duckrow.api.clusters.submit import read_request, submit_batch
from duckrow.api.clusters.sweeps import earlier_request, submit_sweep, todo_on_cluster
from duckrow.api.sweeps.sweeps import Sweeps
from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.known import CLUSTERS
from duckrow.clusters.peaks import SharedPeak, SharedPeaks
from duckrow.clusters.pilots import PilotFolder
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.needs import Needs
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.dependencies import Dependency
from duckrow.core.sweeps.sweep import Point
from duckrow.store.batches import BatchStore
from duckrow.store.devices.peaks import PeakStore
from tests.api.quiet_queue import QuietQueue
from tests.clusters.pretend_cluster import PRETEND, PretendCluster


@pytest.fixture
def cluster(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendCluster]:
    cluster = PretendCluster(str(queue.work / "cluster"), places=0)
    monkeypatch.setitem(CLUSTERS, PRETEND, lambda _request: cluster)
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)
    yield cluster
    cluster.close()


@pytest.fixture
def request_(queue: QuietQueue, cluster: PretendCluster) -> ClusterRequest:
    return read_request(PRETEND, {"folder": f"{queue.work}/batches", "runs_per_job": 1})


def specs(queue: QuietQueue, count: int = 2, **fields: object) -> list[JobSpec]:
    return [JobSpec(f"echo {number}", str(queue.work), **fields) for number in range(count)]  # type: ignore[arg-type]


def end(queue: QuietQueue, folder: str, run: int, outcome: str) -> None:
    """A pilot has taken the run, and tells its end."""
    batch = Batch(folder)
    claims = Claims(batch)
    number = claims.take(PilotFolder(batch, f"9_{run}").card, run)
    assert number is not None
    claims.finish(run, number, {"outcome": outcome, "exit_code": 0 if outcome == "succeeded" else 1})
    queue.client.batches.copy()


# -- submitting ------------------------------------------------------------------------------------------------------


def test_runs_are_on_disk_and_the_cluster_has_jobs_for_them(
    queue: QuietQueue, cluster: PretendCluster, request_: ClusterRequest
) -> None:
    ids = submit_batch(queue.client, specs(queue), request_, {"A": "1"}, name="nights", file="list.txt")
    batch = Batch(f"{queue.work}/batches/nights")
    assert [run.spec.command for run in batch.runs] == ["echo 0", "echo 1"]
    assert batch.file == f"{queue.work}/list.txt"
    assert [view.folder for view in queue.client.views(ids)] == [f"{batch.folder}/runs/{number}" for number in (0, 1)]
    assert len(cluster.states()) == 2
    assert Path(f"{queue.work}/batches/.gitignore").read_text() == "*\n"
    assert submit_batch(queue.client, [], request_) == []


def test_another_batch_of_that_name_gets_a_number(queue: QuietQueue, request_: ClusterRequest) -> None:
    for _ in range(2):
        submit_batch(queue.client, specs(queue, 1), request_, name="nights")
    assert [row["name"] for row in batch_rows(queue.client)] == ["nights", "nights-2"]


def test_what_the_cluster_refuses_leaves_nothing_behind(queue: QuietQueue, cluster: PretendCluster) -> None:
    request = read_request(PRETEND, {"folder": f"{queue.work}/batches", "partition": "nowhere"})
    with pytest.raises(UsageError) as refused:
        submit_batch(queue.client, specs(queue), request, name="nights")
    assert str(refused.value) == (
        "the pretend cluster said: there is no partition nowhere. "
        "The request was: pretend --partition=nowhere. Nothing was submitted."
    )
    assert not os.path.exists(f"{queue.work}/batches/nights")
    assert queue.client.database.one("SELECT count(*) FROM jobs") == 0
    assert batch_rows(queue.client) == []


def test_a_folder_that_cannot_be_made_is_told(queue: QuietQueue, cluster: PretendCluster) -> None:
    (queue.work / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be created: File exists\. Choose another place"):
        submit_batch(queue.client, specs(queue), read_request(PRETEND, {"folder": f"{queue.work}/file"}))


def test_runs_wait_for_jobs_and_held_ones_are_not_taken(queue: QuietQueue, request_: ClusterRequest) -> None:
    (before,) = queue.add()
    ids = submit_batch(queue.client, specs(queue, 1, held=True), request_, after=[Dependency(str(before), "ok")])
    rows = queue.client.database.all("SELECT job_id, on_job_id FROM dependencies")
    assert [tuple(row) for row in rows] == [(ids[0], before)]
    assert queue.client.job(ids[0]).held


def test_an_unknown_cluster_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"--on moon: there is no such cluster\. Choose from slurm"):
        read_request("moon", {})


def test_what_is_known_of_their_memory_goes_along_and_comes_back(queue: QuietQueue, request_: ClusterRequest) -> None:
    store = PeakStore(queue.client.database)
    with queue.client.database.transaction():
        store.learn("train", "H200", 900, "")
    submit_batch(queue.client, specs(queue, 1, needs=Needs(auto=True, recipe="train")), request_, name="nights")
    batch = Batch(f"{queue.work}/batches/nights")
    assert [peak[:4] for peak in SharedPeaks(batch, "pilot").news()] == [("train", "H200", 900, 1)]
    SharedPeaks(batch, "pilot").tell([SharedPeak("train", "A100", 950, 2, False, [("", 950)])])
    PeaksFromBatch(queue.client.database, batch).bring_home()
    assert {(peak.model, peak.peak_mb, peak.runs) for peak in store.all()} == {("H200", 900, 1), ("A100", 950, 2)}


def test_a_dry_run_tells_what_would_be_submitted(queue: QuietQueue, request_: ClusterRequest) -> None:
    different = [*specs(queue, 6), *specs(queue, 1, slurm={"mem": "64G"})]
    small, large = dry_groups(request_, different)
    assert (small.runs, small.jobs, small.arrays) == (6, 6, 2), "no array has more than five here"
    assert (large.runs, large.jobs, large.asks) == (1, 1, "mem=64G")
    assert small.script.startswith("5 jobs: ")


# -- again -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def nights(queue: QuietQueue, request_: ClusterRequest) -> str:
    """A batch: its first run has succeeded, its second failed, its third waits."""
    submit_batch(queue.client, specs(queue, 3), request_, name="nights", file=f"{queue.work}/list.txt")
    folder = f"{queue.work}/batches/nights"
    end(queue, folder, 0, "succeeded")
    end(queue, folder, 1, "failed")
    return folder


def test_a_batch_is_listed_with_what_became_of_its_runs(queue: QuietQueue, nights: str) -> None:
    (row,) = batch_rows(queue.client, find_batch(queue.client, "nights"))
    assert (row["runs"], row["done"], row["failed"], row["running"], row["folder"]) == (3, 2, 1, 0, nights)
    with pytest.raises(UsageError, match="There is no batch 'days'"):
        find_batch(queue.client, "days")


@pytest.mark.parametrize("by_name", [True, False])
def test_a_batch_is_resumed_by_its_name_or_its_list(queue: QuietQueue, nights: str, by_name: bool) -> None:
    asked = (None, "nights") if by_name else (f"{queue.work}/list.txt", None)
    assert resume_batch(queue.client, PRETEND, {}, *asked) == [2, 3]
    with pytest.raises(UsageError, match="There is no batch 'days' to resume"):
        resume_batch(queue.client, PRETEND, {}, None, "days")


def test_with_another_request_what_failed_runs_again_in_a_new_batch(queue: QuietQueue, nights: str) -> None:
    assert resume_batch(queue.client, PRETEND, {"runs_per_job": 2}, None, "nights") == [2, 3]
    assert [row["name"] for row in batch_rows(queue.client)] == ["nights", "nights-2"]
    again = Batch(f"{queue.work}/batches/nights-2")
    assert [run.spec.command for run in again.runs] == ["echo 1"]
    assert BatchStore(queue.client.database).of_jobs([2])[2][1] == 0


def test_a_batch_of_another_login_node_is_found_and_adopted(
    queue: QuietQueue, nights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unknown_batches(queue.client) == []
    with queue.client.database.transaction():
        BatchStore(queue.client.database).forget(find_batch(queue.client, "nights").id)
    (queue.work / "settings.toml").write_text(f'[engines.slurm]\nfolder = "{queue.work}/batches"\n')
    monkeypatch.setenv("DUCKROW_CONFIG", f"{queue.work}/settings.toml")
    assert unknown_batches(queue.client) == [nights]
    assert adopt_batch(queue.client, nights) == "nights"
    assert adopt_batch(queue.client, nights) == "nights", "once is enough"
    (row,) = batch_rows(queue.client)
    assert (row["runs"], row["done"], row["failed"]) == (3, 2, 1)


def test_a_sweep_runs_on_a_cluster_as_one_batch(queue: QuietQueue, request_: ClusterRequest) -> None:
    sweeps, points = Sweeps(queue.client), [Point({"lr": lr}) for lr in ("1", "2")]
    row = sweeps.open("train {lr}", "default", "rates", f"{queue.work}/runs")
    assert earlier_request(sweeps, row) is None

    def submit() -> list[int]:
        todo = todo_on_cluster(sweeps, row, points)
        cwd = str(queue.work)
        new = sweeps.prepare(row, todo, lambda point, _folder: JobSpec(f"train {point['lr']}", cwd), cwd, False)
        return submit_sweep(sweeps, row, new, todo, request_)

    ids = submit()
    folder = f"{queue.work}/batches/rates"
    end(queue, folder, 0, "failed")
    found = earlier_request(sweeps, row)
    assert found is not None
    assert (found.on, found.folder) == (PRETEND, f"{queue.work}/batches")
    assert sweeps.on_cluster(row)
    assert submit() == [ids[0]], "the other one still waits"


def test_a_sweep_that_the_cluster_refuses_leaves_no_folders(queue: QuietQueue, cluster: PretendCluster) -> None:
    sweeps = Sweeps(queue.client)
    row = sweeps.open("train {lr}", "default", "rates", f"{queue.work}/runs")
    todo, cwd = sweeps.todo(row, [Point({"lr": "1"})]), str(queue.work)
    new = sweeps.prepare(row, todo, lambda _point, _folder: JobSpec("train", cwd), cwd, False)
    request = read_request(PRETEND, {"folder": f"{queue.work}/batches", "partition": "nowhere"})
    with pytest.raises(UsageError, match="there is no partition nowhere"):
        submit_sweep(sweeps, row, new, todo, request)
    assert not os.path.exists(f"{queue.work}/runs")
