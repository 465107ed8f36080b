"""NVIDIA's MPS from end to end, played by a program: what a person is told, and what becomes of jobs that it fails."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.mps import PROGRAM
from duckrow.scheduler.devices.mps_sharing import MOST_CLIENTS
from tests.conftest import DEADLINE_S, Duckrow, until
from tests.engines.test_mps import FAKE
from tests.fake_nvml import FakeGpus
from tests.system.test_memory import lines, outcomes

pytest_plugins = ("tests.fake_nvml.plugin",)

SAYS = 'echo "mps=$CUDA_MPS_PIPE_DIRECTORY"'


@pytest.fixture
def duckrow(gpus: FakeGpus, tmp_path: Path) -> Iterator[Duckrow]:
    """One with a GPU and with MPS, in a state folder with a path as short as those of users."""
    gpus.add("NVIDIA H200", 20_000)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / PROGRAM
    program.write_text(f"#!{sys.executable} -IS\n{FAKE}")
    program.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="mps", dir="/tmp") as folder:
        duckrow = Duckrow(Path(folder) / "state", tmp_path)
        for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
            duckrow.env.pop(name, None)
        duckrow.env |= {
            **gpus.env(),
            "DUCKROW_GPU_LOCKS": str(tmp_path / "locks"),
            "FAKE_MPS_PIDS": str(tmp_path / "pids"),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
        }
        yield duckrow
        duckrow.kill_everything()


def test_packed_jobs_run_under_mps_without_a_word(duckrow: Duckrow) -> None:
    run = duckrow("run", "--gpu-mem", "1G", stdin=lines(SAYS, 2))
    assert "MPS" not in run.stderr
    assert duckrow("logs", "2").stdout == f"mps={duckrow.home}/mps\n"
    assert duckrow.job_processes() == []


@pytest.mark.parametrize("mode", ["auto", "on"])
def test_where_mps_cannot_be_used_one_line_says_why_and_jobs_run_without(duckrow: Duckrow, mode: str) -> None:
    run = duckrow("run", "--gpu-mem", "1G", "--mps", mode, stdin=lines(SAYS, 3), env={"FAKE_MPS": "refuses"})
    assert run.stderr.count("MPS cannot be used: nvidia-cuda-mps-control refused: The device is not supported") == 1
    assert "Jobs share GPUs without it" in run.stderr
    assert duckrow("logs", "3").stdout == "mps=\n"


def test_who_has_no_gpu_of_nvidia_hears_nothing_of_mps(duckrow: Duckrow, tmp_path: Path) -> None:
    duckrow.env |= {"LD_LIBRARY_PATH": str(tmp_path), "DUCKROW_FAKE_NVML": "", "FAKE_MPS": "refuses"}
    run = duckrow("run", "--devices", "0:24G", "--gpu-mem", "1G", stdin=SAYS)
    assert "MPS" not in run.stderr


def test_a_job_that_its_mps_server_fails_is_tried_again_without(duckrow: Duckrow) -> None:
    error = "RuntimeError: CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server"
    job = f'{SAYS}; test -z "$CUDA_MPS_PIPE_DIRECTORY" || {{ echo "{error}"; exit 1; }}'
    run = duckrow("run", "--gpu-mem", "1G", "--jobs-per-gpu", "1", stdin=lines(job, 5))
    assert outcomes(duckrow) == {"succeeded": 5}
    assert duckrow.sql("SELECT max(retries_used) FROM jobs") == [(0,)]
    assert "job 1: its MPS server failed; retried without MPS." in run.stderr
    assert run.stderr.count("MPS cannot be used: 3 jobs in a row have failed because of it") == 1
    assert duckrow.sql("SELECT count(*) FROM attempts") == [(8,)], "the last two have never tried it"


def test_the_same_words_of_a_job_that_had_no_mps_are_its_own_failure(duckrow: Duckrow) -> None:
    job = "echo 'MPS client failed to connect to the MPS control daemon or the MPS server'; exit 1"
    assert duckrow("run", "--gpu-mem", "1G", "--mps", "off", stdin=job, ok=False).returncode == 1
    assert duckrow.sql("SELECT outcome, attempts FROM jobs") == [("failed", 1)]


def test_one_more_job_than_a_gpu_takes_clients_runs_without_mps(duckrow: Duckrow) -> None:
    duckrow("ls")  # so that there is a database
    os.mkfifo(duckrow.work / "gate")
    job = f"{SAYS}; read line < gate"
    (duckrow.work / "jobs").write_text(lines(job, MOST_CLIENTS + 1))
    with open(duckrow.work / "said", "w") as said:
        run = duckrow.spawn("run", "--gpu-mem", "100M", "jobs", stderr=said)
    running = "SELECT count(*) FROM jobs WHERE state = 'running'"
    until(lambda: duckrow.sql(running) == [(MOST_CLIENTS + 1,)], "all jobs to run")
    gate = os.open(duckrow.work / "gate", os.O_RDWR)
    os.write(gate, b"\n" * (MOST_CLIENTS + 1))
    assert run.wait(DEADLINE_S) == 0
    os.close(gate)
    logs = [Path(log).read_text().strip() for (log,) in duckrow.sql("SELECT log FROM attempts")]
    assert (logs.count("mps="), len(logs)) == (1, MOST_CLIENTS + 1)
    assert f"GPU 0 has {MOST_CLIENTS} jobs under MPS" in (duckrow.work / "said").read_text()
