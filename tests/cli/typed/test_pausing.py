"""One job is paused and resumed: its time limit, and what the commands say."""

from __future__ import annotations

import json

from tests.cli.typed.dry_duckrow import DryDuckrow


def said(duckrow: DryDuckrow, *words: str) -> tuple[str, str, int]:
    done = duckrow(*words, ok=False)
    return done.stdout, done.stderr, done.returncode


def running(duckrow: DryDuckrow, *words: str) -> int:
    job = duckrow.submit(*words)
    duckrow.wait_for(job, "running")
    return job


def test_a_suspended_job_says_so_everywhere(duckrow: DryDuckrow) -> None:
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
    duckrow: DryDuckrow,
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


def test_the_time_limit_stands_still_while_a_job_is_suspended(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    job = running(duckrow, "--timeout", "100", "sleep 600")
    duckrow.passes(90)
    duckrow("pause", str(job))
    duckrow.passes(1800)
    duckrow("down")
    duckrow.passes(1800)
    duckrow.up()
    assert duckrow.state(job) == "running"
    assert duckrow.job(job)["suspended"]
    duckrow("resume", str(job))
    duckrow.passes(9)
    assert duckrow.state(job) == "running"
    duckrow.passes(2)
    assert duckrow.state(job) == "timed-out", "it had its last seconds left, not all of its time again"


def test_resuming_everything_leaves_a_job_suspended_that_was_paused_by_itself(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "2")
    running(duckrow, "sleep 600")
    running(duckrow, "sleep 600")
    duckrow("pause", "1")
    duckrow("pause", "--stop-running")
    assert [job["suspended"] for job in json.loads(duckrow("ls", "--json").stdout)] == [True, True]
    assert said(duckrow, "resume")[1] == (
        "duckrow: everything continues.\nduckrow: 1 job stays paused: duckrow resume 1\n"
    )
    assert not duckrow.job(2)["suspended"]
    assert duckrow.job(1)["suspended"]
