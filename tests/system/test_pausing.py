"""One job is paused and resumed: its processes, its time limit, what the commands say, after a restart too."""

from __future__ import annotations

import json
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


def test_a_suspended_job_says_so_everywhere(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    running(duckrow, "sleep 600")
    running(duckrow, "sleep 600")
    duckrow("pause", "1")
    listed = duckrow("ls")
    assert "running (suspended)" in listed.stdout
    assert "2 running (1 suspended)." in listed.stderr
    assert "suspended  yes, because it was paused (duckrow resume 1)" in duckrow("show", "1").stdout
    assert "note: suspended" in duckrow("show", "1").stdout
    assert said(duckrow, "why", "1")[0] == (
        "job 1: it is running but suspended, because it was paused: duckrow resume 1\n"
    )
    assert duckrow().stdout.startswith("Jobs: 2 running (1 suspended).\n")
    assert "100% suspended" in duckrow("gpus").stdout
    assert [job["suspended"] for job in json.loads(duckrow("ls", "--json").stdout)] == [True, False]
    assert [job["suspended"] for job in json.loads(duckrow("show", "1,2", "--json").stdout)] == [True, False]


def test_a_waiting_job_that_is_paused_is_held_and_what_cannot_be_paused_is_refused_with_the_reason(
    duckrow: Duckrow,
) -> None:
    duckrow.up("--slots", "1")
    duckrow.submit("--wait", "true")
    running(duckrow, "sleep 600")
    duckrow.submit("true")
    assert said(duckrow, "pause", "1") == ("", "duckrow: job 1 succeeded.\n", 1)
    assert said(duckrow, "resume", "2") == ("", "duckrow: job 2 is running: it is not paused.\n", 1)
    assert said(duckrow, "resume", "3")[1:] == (
        "duckrow: job 3 is not paused: duckrow why 3 says what it waits for.\n",
        1,
    )
    assert said(duckrow, "pause", "3")[1] == "duckrow: 1 queued job held.\nduckrow: to continue: duckrow resume 3\n"
    assert duckrow.job(3)["held"]
    assert said(duckrow, "resume", "3") == ("", "duckrow: 1 queued job released.\n", 0)
    assert not duckrow.job(3)["held"]
    duckrow("pause")
    assert said(duckrow, "resume", "3")[1] == ("duckrow: job 3 is paused because everything is: duckrow resume.\n")
    assert said(duckrow, "pause", "2", "--stop-running")[2] == 2
    assert said(duckrow, "resume", "2", "--project", "x")[2] == 2


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


def test_the_time_limit_stands_still_while_a_job_is_suspended(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = running(duckrow, "--timeout", "100", "sleep 600")
    duckrow("pause", str(job))
    (row,) = duckrow.sql("SELECT wish FROM wishes WHERE job_id = ?", job)
    since = float(row[0].split(":")[1])
    # As if it had run for 90 s and then been suspended for an hour.
    duckrow("down")
    duckrow.sql("UPDATE wishes SET wish = ?", f"suspended:{since - 3600}:by-itself")
    duckrow.sql("UPDATE attempts SET started_mono = ? WHERE job_id = ?", since - 3690, job)
    duckrow.up()
    assert duckrow.state(job) == "running"
    assert duckrow.job(job)["suspended"]
    duckrow("resume", str(job))
    (started,) = duckrow.sql("SELECT started_mono FROM attempts WHERE job_id = ?", job)[0]
    assert -91 < started - since < 30  # it has its last seconds left, not all of its time again
    assert duckrow.state(job) == "running"


def test_resuming_everything_leaves_a_job_suspended_that_was_paused_by_itself(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    running(duckrow, "sleep 600")
    running(duckrow, "sleep 600")
    duckrow("pause", "1")
    duckrow("pause", "--stop-running")
    assert [job["suspended"] for job in json.loads(duckrow("ls", "--json").stdout)] == [True, True]
    assert said(duckrow, "resume")[1] == (
        "duckrow: everything continues.\nduckrow: 1 job stays paused: duckrow resume 1\n"
    )
    until(lambda: not duckrow.job(2)["suspended"], "the other job to go on")
    assert duckrow.job(1)["suspended"]


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
