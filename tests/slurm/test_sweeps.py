"""Sweeps on a real SLURM: as on one machine, with their folders, parameters, results, and what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, until
from tests.slurm.conftest import Cluster, SlurmDuckrow

# Reports a loss, and fails for 0.1 as long as that is not forgiven.
SCRIPT = 'echo "{\\"loss\\": $1}" >> $DUCKROW_METRICS; test $1 != 0.1 || test -e forgiven\n'
WORDS = ["sweep", "sh picky.sh {lr}", "-p", "lr", "0.1", "0.2"]


@pytest.fixture(autouse=True)
def _script(duckrow: SlurmDuckrow) -> None:
    (duckrow.work / "picky.sh").write_text(SCRIPT)


def results(duckrow: SlurmDuckrow) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(duckrow("results", "--json").stdout)
    return sorted(rows, key=lambda row: row["lr"])


def test_a_sweep_runs_on_the_cluster_and_what_has_failed_is_resumed_there(duckrow: SlurmDuckrow) -> None:
    done = duckrow(*WORDS, "--run", "--on", "slurm", "--parallel-runs", "2", ok=False)
    assert done.returncode == 1
    assert "duckrow sweep --resume" in done.stderr
    assert [(row["lr"], row["loss"], row["state"]) for row in results(duckrow)] == [
        (0.1, 0.1, "failed"),
        (0.2, 0.2, "succeeded"),
    ]
    folder = duckrow.work / "duckrow-runs" / "default" / "picky" / "lr=0.1"
    assert json.loads((folder / "params.json").read_text()) == {"lr": 0.1}
    (duckrow.work / "forgiven").touch()
    duckrow("sweep", "--resume")  # on the cluster, where it was, with what was asked for there
    duckrow("wait", "1")
    assert [row["attempts"] for row in results(duckrow)] == [2, 1]
    assert [row[0] for row in duckrow.sql("SELECT outcome FROM attempts WHERE job_id = 1")] == ["failed", "succeeded"]
    assert {"attempt-1.log", "attempt-2.log"} <= set(os.listdir(folder))
    assert json.loads((duckrow.batch() / "batch.json").read_text())["request"]["parallel_runs"] == 2
    assert "2 skipped (succeeded before)" in duckrow(*WORDS, "--submit", "--on", "slurm").stderr


def test_a_sweep_moves_between_this_machine_and_the_cluster(duckrow: SlurmDuckrow) -> None:
    duckrow(*WORDS, "--run", "--slots", "2", ok=False)
    said = duckrow(*WORDS, "0.3", "--submit", "--on", "slurm", "--json")
    assert json.loads(said.stdout)["jobs"] == [3, 1]
    duckrow("wait", "1-3", ok=False)
    assert [row["state"] for row in results(duckrow)] == ["failed", "succeeded", "succeeded"]
    (duckrow.work / "forgiven").touch()
    duckrow("sweep", "--resume", "--run", "--slots", "1")
    assert [row["state"] for row in results(duckrow)] == ["succeeded"] * 3
    assert [row["attempts"] for row in results(duckrow)] == [3, 1, 1]
    assert duckrow.sql("SELECT job_id FROM batch_runs") == [(3,)]


def test_a_sweep_whose_slurm_jobs_were_cancelled_goes_on_when_it_is_resumed(
    duckrow: SlurmDuckrow, cluster: Cluster
) -> None:
    duckrow("sweep", "echo {x} >> ran", "-p", "x", "1", "2", "--submit", "--on", "slurm", "--sbatch=--begin=now+1hour")
    cluster("scancel", f"--user={os.getuid()}")
    until(lambda: not cluster("squeue", "--noheader"), "their end")
    assert "2 that did not succeed run again" in duckrow("sweep", "--resume", "--on", "slurm").stderr
    duckrow("wait", "1-2")
    assert sorted(duckrow.lines("ran")) == ["1", "2"]


def test_a_sweep_that_sbatch_refuses_leaves_nothing(duckrow: SlurmDuckrow) -> None:
    words = ["sweep", "false {lr}", "-p", "lr", "0.1"]
    refused = duckrow(*words, "--submit", "--on", "slurm", "--partition", "nowhere", ok=False)
    assert "invalid partition specified: nowhere" in refused.stderr
    assert not (duckrow.work / "duckrow-runs").exists()
    assert duckrow.sql("SELECT count(*) FROM sweeps UNION ALL SELECT count(*) FROM jobs") == [(0,), (0,)]
    duckrow(*words, "--run", "--slots", "1", ok=False)
    duckrow(*words, "0.2", "--submit", "--on", "slurm", "--partition", "nowhere", ok=False)
    assert duckrow.states() == ["failed"]  # as it was
    assert sorted(os.listdir(duckrow.work / "duckrow-runs" / "default" / "false")) == [".code", "lr=0.1"]


def test_where_the_runs_of_a_sweep_go_is_no_use_without_sending_them(duckrow: SlurmDuckrow) -> None:
    refused = duckrow("sweep", "true {x}", "-p", "x", "1", "--on", "slurm", ok=False)
    assert "Add --submit, or --run" in refused.stderr


def test_a_python_function_is_swept_on_the_cluster(duckrow: SlurmDuckrow) -> None:
    (duckrow.work / "square.py").write_text(
        "import os, duckrow\n"
        "def square(x):\n    assert os.environ['SLURM_JOB_ID']\n    return x * x\n"
        "if __name__ == '__main__':\n"
        "    sweep = duckrow.sweep(square, {'x': [2, 3]}, on='slurm', slurm={'max_jobs': 1}).wait()\n"
        "    print([job.result() for job in sweep.jobs])\n"
    )
    said = subprocess.run(
        [sys.executable, "square.py"],
        cwd=duckrow.work,
        env=duckrow.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert said.stdout == "[4, 9]\n", said.stderr
