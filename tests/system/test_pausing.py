"""One job is paused and resumed: its processes, its time limit, what the commands say, after a restart too."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import Duckrow, is_running, until
from tests.system.test_transcripts import said

FAMILY = "sleep 600 & sleep 600"  # a shell with two children


def kernel_states(duckrow: Duckrow) -> set[str]:
    """Of the processes of jobs: S sleeps, T is suspended."""
    found = set()
    for pid in duckrow.job_processes():
        try:
            found.add(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0])
        except OSError:
            pass
    return found


def running(duckrow: Duckrow, *words: str) -> int:
    job = duckrow.submit(*words)
    duckrow.wait_for(job, "running")
    return job


def family(duckrow: Duckrow) -> int:
    job = running(duckrow, FAMILY)
    until(lambda: len(duckrow.job_processes()) == 3, "the job's children")
    return job


def test_a_running_job_is_suspended_with_all_its_processes_and_resumed(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    job = family(duckrow)
    assert said(duckrow, "pause", str(job)) == (
        "",
        "duckrow: 1 job suspended. It keeps its devices and GPU memory.\nduckrow: to continue: duckrow resume 1\n",
        0,
    )
    assert kernel_states(duckrow) == {"T"}
    assert said(duckrow, "resume", str(job)) == ("", "duckrow: 1 job running again.\n", 0)
    until(lambda: "T" not in kernel_states(duckrow), "all of it to go on")
    duckrow("kill", "--signal", "STOP", str(job))  # is the same
    assert duckrow.job(job)["suspended"]
    assert kernel_states(duckrow) == {"T"}
    duckrow("kill", "--signal", "CONT", str(job))
    assert not duckrow.job(job)["suspended"]


def test_a_suspended_job_stays_so_when_the_daemon_dies_and_can_be_killed(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    job = family(duckrow)
    duckrow("pause", str(job))
    duckrow.kill_daemon()
    duckrow.up()
    assert duckrow.job(job)["suspended"]
    assert kernel_states(duckrow) == {"T"}
    processes = duckrow.job_processes()
    duckrow("kill", str(job))
    duckrow.wait_for(job, "killed")
    until(lambda: not any(is_running(pid) for pid in processes), "the end of all of it")
    assert duckrow.sql("SELECT wish FROM wishes") == []


def test_a_suspended_job_whose_process_ends_leaves_nothing_behind(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = running(duckrow, "exec sleep 600")
    duckrow("pause", str(job))
    os.kill(duckrow.job(job)["pid"], 9)
    duckrow.wait_for(job, "killed")
    assert duckrow.sql("SELECT wish FROM wishes") == []
    duckrow("rerun", str(job))
    duckrow.wait_for(job, "running")
    assert not duckrow.job(job)["suspended"]


def test_the_job_of_a_run_in_the_foreground_is_paused_too(duckrow: Duckrow) -> None:
    duckrow("ls")  # now there is a database to look into
    run = duckrow.spawn("run", "--slots", "1", "--", "sleep", "600")
    duckrow.wait_for(1, "running")
    duckrow("pause", "1")
    assert kernel_states(duckrow) == {"T"}
    duckrow("kill", "1")
    run.wait()
    assert duckrow.state(1) == "killed"
