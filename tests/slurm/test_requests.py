"""A batch on a real SLURM whose runs ask for different things: partitions, and numbers of GPUs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from tests.conftest import until
from tests.slurm.conftest import Cluster, SlurmDuckrow

WHERE = "echo $SLURM_JOB_PARTITION $CUDA_VISIBLE_DEVICES"


def lines_of(*jobs: Mapping[str, object]) -> str:
    return "".join(json.dumps({"command": WHERE, **job}) + "\n" for job in jobs)


def test_each_run_of_a_batch_gets_what_it_asks_for(duckrow: SlurmDuckrow) -> None:
    whole = {"slurm": {"partition": "whole", "gres": "gpu:2"}, "gpus": 2}
    options = ["--on", "slurm", "--format", "json", "--partition", "main", "--gres", "gpu:1"]
    duckrow("run", *options, stdin=lines_of({}, whole, {}, whole))
    said = [duckrow("logs", str(job)).stdout.strip() for job in range(1, 5)]
    assert said[1] == said[3] == "whole 0,1"
    assert {said[0], said[2]} <= {"main 0", "main 1"}
    assert len(list((duckrow.batch() / "submitted").iterdir())) == 2


@pytest.fixture
def main_is_down(cluster: Cluster) -> Iterator[None]:
    cluster("scontrol", "update", "PartitionName=main", "State=DOWN")
    yield
    cluster("scontrol", "update", "PartitionName=main", "State=UP")


@pytest.mark.usefixtures("main_is_down")
def test_a_slurm_job_takes_runs_that_ask_for_less_and_the_others_say_what_they_wait_for(
    duckrow: SlurmDuckrow, cluster: Cluster
) -> None:
    """No SLURM job comes for those that name no partition: `main` is the default, and down."""
    whole, late = {"partition": "whole"}, {"partition": "high", "sbatch": ["--begin=now+1hour"]}
    jobs = lines_of({}, {"slurm": whole}, {}, {"slurm": late})
    duckrow("submit", "--on", "slurm", "--format", "json", "--max-jobs", "1", "--file", "-", stdin=jobs)
    duckrow("wait", "1-3")
    assert {duckrow("logs", str(job)).stdout.split()[0] for job in (1, 2, 3)} == {"whole"}
    assert (duckrow.batch() / "results" / "0.json").exists()
    until(lambda: duckrow("batches") and "wait (BeginTime)" in duckrow("why", "4").stdout, "SLURM's reason")
    why = duckrow("why", "4").stdout
    assert "with partition=high, sbatch=--begin=now+1hour to take it" in why
    assert "partition=high, sbatch=--begin=now+1hour: " in duckrow("batches").stderr
    requests = json.loads(duckrow("batches", "--json").stdout)[0]["requests"]
    assert ["wait (BeginTime)" in request for request in requests] == [False, False, True]
    duckrow("kill", "4")
    assert cluster("squeue", "--noheader", "--states=PENDING") == ""  # no SLURM job comes for what nobody wants


def test_what_would_be_submitted_is_shown_for_each_request(duckrow: SlurmDuckrow) -> None:
    options = ["run", "--on", "slurm", "--format", "json", "--partition", "main", "--dry-run"]
    shown = duckrow(*options, stdin=lines_of({}, {}, {"slurm": {"partition": "whole"}}))
    assert shown.stdout.count("#!/bin/bash\n") == 2
    assert "#SBATCH --partition=main\n" in shown.stdout
    assert "#SBATCH --partition=whole\n" in shown.stdout
    assert "2 runs (partition=main) in 2 SLURM jobs" in shown.stderr
    assert "1 run (partition=whole) in 1 SLURM job" in shown.stderr


def test_a_request_that_slurm_refuses_leaves_nothing_of_the_others(duckrow: SlurmDuckrow, cluster: Cluster) -> None:
    refused = duckrow(
        *("submit", "--on", "slurm", "--format", "json", "--file", "-"),
        stdin=lines_of({}, {"slurm": {"partition": "nosuch"}}),
        ok=False,
    )
    assert refused.returncode == 2
    assert "invalid partition" in refused.stderr
    assert "--partition=nosuch" in refused.stderr
    assert "Nothing was submitted." in refused.stderr
    assert cluster("squeue", "--noheader") == ""
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]


def test_a_request_of_its_own_is_refused_on_this_machine(duckrow: SlurmDuckrow) -> None:
    job = lines_of({"slurm": {"partition": "main"}})
    for words in (("run",), ("submit", "--file", "-")):
        said = duckrow(*words, "--format", "json", stdin=job, ok=False).stderr
        assert "The 'slurm' of a job is for runs on a cluster. Say which: --on slurm." in said
