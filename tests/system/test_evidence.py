"""What is known beats what is missing: a job that runs is never begun a second time, nor taken for dead."""

from __future__ import annotations

import pytest

from tests.conftest import Duckrow, until
from tests.system.test_crashes import DAMAGE, kill_daemon_and_keeper

JOB = "echo x >> ran; until test -e gate; do sleep 0.05; done; exit 21"


def damage(duckrow: Duckrow, how: str) -> None:
    DAMAGE[how](next((duckrow.home / "keepers").iterdir()))


def begin(duckrow: Duckrow) -> int:
    duckrow.up("--devices", "0")
    job = duckrow.submit("--gpus", "1", "--", JOB)
    duckrow.wait_for(job, "running")
    until(lambda: (duckrow.work / "ran").exists(), "its first words")
    return job


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("when", ["before the daemon dies", "after it died"])
def test_a_damaged_journal_neither_doubles_nor_loses_a_job(duckrow: Duckrow, how: str, when: str) -> None:
    job = begin(duckrow)
    waiting = duckrow.submit("--gpus", "1", "--", "true")
    if when == "before the daemon dies":
        damage(duckrow, how)
    duckrow.kill_daemon()
    if when != "before the daemon dies":
        damage(duckrow, how)
    duckrow.up()
    assert duckrow.state(job) == "running"
    assert duckrow.state(waiting) == "queued"
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "failed")
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.job(job)["exit_code"] == 21
    assert (duckrow.work / "ran").read_text() == "x\n"


@pytest.mark.parametrize("how", DAMAGE)
def test_without_a_journal_and_a_keeper_a_job_still_keeps_its_gpu(duckrow: Duckrow, how: str) -> None:
    job = begin(duckrow)
    waiting = duckrow.submit("--gpus", "1", "--", "true")
    kill_daemon_and_keeper(duckrow)
    damage(duckrow, how)
    duckrow.up()
    assert duckrow.state(job) == "running"
    assert duckrow.state(waiting) == "queued"
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "lost")  # nobody is left who could know its exit code
    duckrow.wait_for(waiting, "succeeded")
    assert (duckrow.work / "ran").read_text() == "x\n"


def test_a_job_that_shed_its_environment_is_known_by_its_process(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    bare = "exec env -i PATH=$PATH sh -c 'echo x >> ran; until test -e gate; do sleep 0.05; done'"
    job = duckrow.submit("--gpus", "1", "--", bare)
    duckrow.wait_for(job, "running")
    until(lambda: (duckrow.work / "ran").exists(), "its first words")
    kill_daemon_and_keeper(duckrow)
    damage(duckrow, "removed")
    duckrow.up()
    assert duckrow.state(job) == "running"
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "lost")
    assert (duckrow.work / "ran").read_text() == "x\n"
