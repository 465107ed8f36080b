"""A cluster that somebody brings along has its name in `known`, and all else is as always (see CONTRIBUTING)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.clusters.dry_run import dry_groups
from duckrow.api.clusters.submit import read_request, submit_batch
from duckrow.clusters.batch import Batch
from duckrow.clusters.known import CLUSTERS
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.store.batches import BatchStore
from duckrow.store.folder.state_folder import Folder
from tests.clusters.pretend_cluster import PRETEND, PretendCluster
from tests.conftest import until


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendCluster]:
    cluster = PretendCluster(str(tmp_path / "cluster"))
    monkeypatch.setitem(CLUSTERS, PRETEND, lambda _request: cluster)
    yield cluster
    cluster.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(Folder(str(tmp_path / "home")).make()) as client:
        yield client


def outcomes(client: Client, ids: Sequence[int]) -> list[str | None]:
    """As somebody sees them who tends."""
    client.tender.submit()
    return [view.outcome for view in client.views(ids)]


def test_runs_on_another_cluster_are_done_and_what_is_left_of_its_jobs_is_cancelled(
    client: Client, cluster: PretendCluster, tmp_path: Path
) -> None:
    request = read_request(PRETEND, {"runs_per_job": 1, "max_jobs": 1, "folder": str(tmp_path / "batches")})
    commands = ["echo hello > said", "exit 3", "true"]
    ids = submit_batch(client, [JobSpec(command, str(tmp_path)) for command in commands], request)
    until(lambda: None not in outcomes(client, ids), "all runs to be done")
    assert outcomes(client, ids) == ["succeeded", "failed", "succeeded"]
    assert (tmp_path / "said").read_text() == "hello\n"
    until(lambda: not any(job.runs or job.waits for job in cluster.states().values()), "the end of its jobs")


def test_a_pilot_whose_host_is_killed_leaves_no_state_folder_on_its_node(
    client: Client, cluster: PretendCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    request = read_request(PRETEND, {"folder": str(tmp_path / "batches")})
    spec = JobSpec(f"echo $PPID > {tmp_path}/host.new; mv {tmp_path}/host.new {tmp_path}/host; exec sleep 600", "/")
    ids = submit_batch(client, [spec], request)
    until(lambda: outcomes(client, ids) and (tmp_path / "host").exists(), "the run to start")
    assert len(list(scratch.glob("duckrow-pilot-*"))) == 1
    os.kill(int((tmp_path / "host").read_text()), signal.SIGKILL)
    until(lambda: not list(scratch.glob("duckrow-pilot-*")), "its keeper to remove the folder")


def test_what_another_cluster_refuses_is_told_in_its_own_words(
    client: Client, cluster: PretendCluster, tmp_path: Path
) -> None:
    request = read_request(PRETEND, {"partition": "nowhere", "folder": str(tmp_path / "batches")})
    with pytest.raises(UsageError) as told:
        submit_batch(client, [JobSpec("true", "/")], request)
    asked = "The request was: pretend --partition=nowhere. Nothing was submitted."
    assert str(told.value) == f"the pretend cluster said: there is no partition nowhere. {asked}"


def test_what_another_cluster_cannot_answer_now_is_submitted_when_it_does(
    client: Client, cluster: PretendCluster, tmp_path: Path
) -> None:
    request = read_request(PRETEND, {"folder": str(tmp_path / "batches")})
    (run,) = submit_batch(client, [JobSpec("true", "/")], request)
    cluster.is_silent = True
    client.tender.submit()
    assert client.batches.notes == ["the pretend cluster is silent."]
    cluster.is_silent = False
    until(lambda: outcomes(client, [run]) == ["succeeded"], "the run to be done")


def test_what_has_failed_there_runs_again_in_another_batch_with_what_it_asked_for_by_itself(
    client: Client, cluster: PretendCluster, tmp_path: Path
) -> None:
    request = read_request(PRETEND, {"folder": str(tmp_path / "batches")})
    commands = [f"test -e {tmp_path}/forgiven", "true"]
    own = [{"cpus_per_task": number + 1} for number in range(2)]
    specs = [JobSpec(command, "/", slurm=asks) for command, asks in zip(commands, own, strict=True)]
    ids = submit_batch(client, specs, request)
    until(lambda: outcomes(client, ids) == ["failed", "succeeded"], "one to fail")
    (tmp_path / "forgiven").touch()
    assert submit_batch(client, [], request, again=ids[:1]) == ids[:1]
    again = Batch(BatchStore(client.database).all()[-1].folder)
    assert again.request.cpus_per_task == 1
    until(lambda: outcomes(client, ids) == ["succeeded", "succeeded"], "it to succeed")


@pytest.mark.usefixtures("cluster")
def test_a_dry_run_for_another_cluster_shows_what_it_would_be_given(tmp_path: Path) -> None:
    request = read_request(PRETEND, {"runs_per_job": 1, "folder": str(tmp_path)})
    (group,) = dry_groups(request, [JobSpec("true", "/")] * 7, "mine")
    assert (group.jobs, group.arrays) == (7, 2)
    assert f"{tmp_path}/mine" in group.script


def test_a_cluster_that_nobody_knows_is_told() -> None:
    with pytest.raises(UsageError, match=r"--on nowhere: there is no such cluster. Choose from slurm;"):
        read_request("nowhere", {})
