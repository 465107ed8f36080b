"""Sharing a machine with other people: real processes of other users on GPUs that do not exist."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, until
from tests.fake_nvml import FakeGpus
from tests.other_users import NOBODY, needs_other_users
from tests.system.test_memory import bring_up, gpus_used
from tests.system.test_run import said

pytest_plugins = ("tests.fake_nvml.plugin",)

WAITS = "waiting"

pytestmark = needs_other_users


@pytest.fixture
def duckrow(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> Duckrow:
    """One that sees the fake GPUs, and shares its locks with no other test."""
    duckrow.env |= {**gpus.env(), "DUCKROW_GPU_LOCKS": str(tmp_path / "locks")}
    return duckrow


@contextmanager
def process_of(user: int, program: str = "sleep") -> Iterator[int]:
    with subprocess.Popen([program, "600"], user=user, cwd="/") as sleeper:
        yield sleeper.pid
        sleeper.kill()


@pytest.fixture
def colleague() -> Iterator[int]:
    """The PID of another user's program."""
    with process_of(NOBODY) as pid:
        yield pid


@pytest.fixture
def notebook() -> Iterator[int]:
    """The PID of a program of our own that has nothing to do with duckrow."""
    with process_of(os.geteuid()) as pid:
        yield pid


def add(gpus: FakeGpus, count: int) -> None:
    for _ in range(count):
        gpus.add("NVIDIA H200", 140_000)


@pytest.mark.parametrize(
    "words",
    [(), ("--devices", "0,1,2"), ("--max-gpus", "1"), ("--prefer", "0"), ("--min-free-gpus", "1")],
    ids=" ".join,
)
def test_a_run_leaves_the_gpu_of_a_colleague_alone(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int, words: tuple[str, ...]
) -> None:
    add(gpus, 3)
    gpus.allocate(colleague, 0, 500)
    duckrow("run", *words, stdin="true\n" * 6)
    assert "0" not in gpus_used(duckrow)


def test_gpus_that_are_to_stay_free_are_not_taken_because_a_colleague_has_another(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int
) -> None:
    add(gpus, 4)
    gpus.allocate(colleague, 0, 97_000)
    bring_up(duckrow, "--min-free-gpus", "3")
    job = duckrow.submit("true")
    until(lambda: "3 GPUs must stay free" in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"


def test_a_submitted_job_waits_for_a_colleague_and_why_says_for_whom(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int
) -> None:
    add(gpus, 1)
    gpus.allocate(colleague, 0, 97_000)
    bring_up(duckrow)
    job = duckrow.submit("true")
    named = f"GPU 0 is used by nobody's sleep (process {colleague}, 94.7G)"
    until(lambda: named in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"
    assert "--share-gpus" in duckrow("why", str(job)).stdout


def heard_while_it_waits(duckrow: Duckrow, *words: str) -> str:
    """What a run in a pipe says that cannot start its job; it is ended then."""
    run = duckrow.spawn("run", *words, "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdin is not None
    assert run.stderr is not None
    run.stdin.write(b"true\n")
    run.stdin.close()
    heard = said(run, WAITS)
    run.terminate()
    run.wait(DEADLINE_S)
    run.stderr.close()
    return heard


def test_a_run_in_a_pipe_says_for_whom_it_waits(duckrow: Duckrow, gpus: FakeGpus, colleague: int) -> None:
    add(gpus, 1)
    gpus.allocate(colleague, 0, 97_000)
    told = f"{WAITS}: it needs a device; 0 of 1 are free; GPU 0 is used by nobody's sleep"
    assert told in heard_while_it_waits(duckrow)


def test_a_run_that_waits_for_memory_says_so(duckrow: Duckrow, gpus: FakeGpus, colleague: int) -> None:
    add(gpus, 1)
    gpus.allocate(colleague, 0, 97_000)
    told = f"{WAITS}: it needs 60G on a GPU; GPU 0 has 40.6G free"
    assert told in heard_while_it_waits(duckrow, "--gpu-mem", "60G")


def test_jobs_start_beside_a_colleague_when_told_to(duckrow: Duckrow, gpus: FakeGpus, colleague: int) -> None:
    add(gpus, 1)
    gpus.allocate(colleague, 0, 97_000)
    assert "shares" not in duckrow("run", "--share-gpus", stdin="true").stderr
    duckrow.env["DUCKROW__RUN__SHARE_GPUS"] = "true"
    duckrow("run", stdin="true")
    refused = duckrow("run", "--share-gpus", "--only-idle-gpus", stdin="true", ok=False)
    assert refused.returncode == 2
    assert "not both" in refused.stderr


def test_simple_gpu_scheduler_waits_for_nobody_as_it_never_did(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int
) -> None:
    add(gpus, 1)
    gpus.allocate(colleague, 0, 97_000)
    words = [sys.executable, "-m", "duckrow.dropin.simple_gpu_scheduler", "--gpus", "0"]
    done = subprocess.run(words, input="true\n", env=duckrow.env, cwd=duckrow.work, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0


def test_a_job_goes_beside_a_program_of_your_own_only_if_it_must_and_says_so(
    duckrow: Duckrow, gpus: FakeGpus, notebook: int
) -> None:
    add(gpus, 2)
    gpus.allocate(notebook, 0, 20_480)
    assert "shares" not in duckrow("run", stdin="true").stderr
    assert gpus_used(duckrow) == {"1"}
    told = duckrow("run", "--devices", "0", stdin="true\n").stderr
    assert f"it shares GPU 0 with your own sleep (process {notebook}, 20G): no other GPU was free." in told
    assert gpus_used(duckrow) == {"0", "1"}


@pytest.mark.parametrize("fault", ["hidden_pids", "no_pids"])
def test_in_a_container_memory_that_nobody_here_explains_is_waited_for(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int, fault: str
) -> None:
    gpus.add("NVIDIA H200", 140_000, **{fault: True})
    gpus.allocate(colleague, 0, 2_000)
    duckrow("run", stdin="true")  # the driver keeps as much for itself
    gpus.allocate(colleague, 0, 5_000)
    bring_up(duckrow)
    job = duckrow.submit("true")
    hidden = "GPU 0 is used by somebody who cannot be seen from here (4.9G)"
    until(lambda: hidden in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"
    gpus.free(colleague, 0)
    duckrow.wait_for(job, "succeeded")


def test_an_mps_server_is_nobody(duckrow: Duckrow, gpus: FakeGpus, tmp_path: Path) -> None:
    add(gpus, 1)
    os.chmod(tmp_path, 0o755)
    server = tmp_path / "nvidia-cuda-mps-server"
    server.symlink_to("/bin/sleep")
    with process_of(os.geteuid(), str(server)) as pid:
        gpus.allocate(pid, 0, 500)
        assert "shares" not in duckrow("run", stdin="true").stderr


def test_each_instance_of_a_divided_gpu_has_its_own_neighbours(
    duckrow: Duckrow, gpus: FakeGpus, colleague: int
) -> None:
    gpus.add("NVIDIA H200", 40_000, mig=[10_000, 10_000])
    gpus.allocate(colleague, 0, 4_000, mig=0)
    duckrow("run", stdin="true\n" * 4)
    assert gpus_used(duckrow) == {gpus.uuid(0, mig=1)}


def test_a_gpu_that_never_tells_its_memory_is_given_out(duckrow: Duckrow, gpus: FakeGpus) -> None:
    gpus.add("NVIDIA GB10", 140_000, no_memory=True)
    duckrow("run", stdin="true")
    assert gpus_used(duckrow) == {"0"}


def test_a_gpu_that_talks_nonsense_is_not_taken_for_free(duckrow: Duckrow, gpus: FakeGpus) -> None:
    add(gpus, 1)
    bring_up(duckrow)
    gpus.change(0, nonsense=True)
    until(lambda: json.loads(duckrow("gpus", "--json").stdout)[0]["problem"], "a reading in vain")
    job = duckrow.submit("true")
    until(lambda: "the driver does not say who is using GPU 0" in duckrow("why", str(job)).stdout, "the reason")
    assert duckrow.state(job) == "queued"
    gpus.change(0, nonsense=False)
    duckrow.wait_for(job, "succeeded")
