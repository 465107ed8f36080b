"""Python functions on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import duckrow as package
from tests.conftest import DEADLINE_S
from tests.slurm.conftest import Cluster, SlurmDuckrow

REQUEST = {"lease": "8s", "parallel_runs": 2}


@pytest.fixture(autouse=True)
def login_node(duckrow: SlurmDuckrow, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(duckrow.work)
    monkeypatch.setenv("DUCKROW_HOME", str(duckrow.home))
    monkeypatch.setenv("SLURM_CONF", cluster.conf)


def where(number: int) -> tuple[int, str | None]:
    if number == 3:
        raise ValueError("three is too many")
    return number * 2, os.environ.get("SLURM_JOB_ID")


def test_the_results_of_functions_come_back_in_their_order() -> None:
    with package.Executor(engine="slurm", slurm=REQUEST) as executor:
        results = list(executor.map(where, range(3)))
    assert [value for value, _ in results] == [0, 2, 4]
    assert all(job is not None for _, job in results)


def test_what_a_function_raises_is_raised_here() -> None:
    job = package.submit(where, 3, on="slurm", slurm=REQUEST)
    with pytest.raises(ValueError, match="three is too many"):
        job.result(timeout=DEADLINE_S)


def test_an_edited_function_runs_again_on_the_cluster() -> None:
    for factor, said in (
        (2, "1 new"),
        (2, "1 skipped (succeeded before)"),
        (3, "1 run again because factor was edited"),
    ):
        runs = package.sweep(times(factor), {"x": [5]}, on="slurm", slurm=REQUEST).wait(DEADLINE_S)
        assert (runs.summary, runs.jobs[0].result()) == (said, factor * 5)


def times(factor: int) -> Callable[[int], int]:
    return lambda x: factor * x


def test_a_command_is_submitted_and_its_log_read(duckrow: SlurmDuckrow) -> None:
    job = package.submit("echo here", on="slurm", slurm=REQUEST).wait(DEADLINE_S)
    assert (job.outcome, job.logs()) == ("succeeded", "here\n")
    assert Path(job.folder).parent.parent == duckrow.batch()


def test_what_makes_no_sense_on_a_cluster_is_refused() -> None:
    with pytest.raises(package.UsageError, match="max_workers is for this machine"):
        package.Executor(2, engine="slurm")
    with pytest.raises(package.UsageError, match="begin= does not go with on="):
        package.submit("true", on="slurm", begin="+1h")
    with pytest.raises(package.UsageError, match="there is no such cluster"):
        package.submit("true", on="horeka")
