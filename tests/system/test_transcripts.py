"""What the plain verbs say: the printed text and the exit code, for good and bad input."""

from __future__ import annotations

import re

import pytest

from tests.conftest import Duckrow


def said(duckrow: Duckrow, *words: str) -> tuple[str, str, int]:
    """(stdout, stderr, exit code), with process numbers as N."""
    done = duckrow(*words, ok=False)
    return done.stdout, re.sub(r"process \d+", "process N", done.stderr), done.returncode


def test_up_and_down(duckrow: Duckrow) -> None:
    assert said(duckrow, "down") == ("", "duckrow: the daemon is not running.\n", 0)
    devices = "with GPUs 0, 1 and 3 CPU slots"
    assert said(duckrow, "up", "--devices", "0,1", "--slots", "3") == (
        "",
        f"duckrow: the daemon is running (process N), {devices}.\n",
        0,
    )
    assert said(duckrow, "up") == ("", "duckrow: the daemon is already running (process N).\n", 0)
    other = "duckrow: the daemon is running (process N), with GPU 5 and 1 CPU slot.\n"
    assert said(duckrow, "up", "--devices", "5", "--slots", "1") == ("", other, 0)
    assert said(duckrow, "down") == ("", "duckrow: the daemon has ended.\n", 0)


def test_kill_and_wait(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    duckrow.submit("sleep 600")
    duckrow.wait_for(1, "running")
    assert said(duckrow, "wait", "1", "--timeout", "0.05") == (
        "",
        "duckrow: Job 1 was not done within 0.05 s.\n",
        124,
    )
    assert said(duckrow, "kill", "1") == ("", "duckrow: stopping job 1.\n", 0)
    assert said(duckrow, "wait", "1") == ("", "duckrow: job 1 killed: sleep 600\n", 1)
    assert said(duckrow, "kill", "1") == (
        "",
        "duckrow: job 1 is already done (killed).\n",
        0,
    )


def test_pause_and_resume(duckrow: Duckrow) -> None:
    assert said(duckrow, "pause") == ("", "duckrow: everything is paused. To continue: duckrow resume\n", 0)
    paused = "duckrow: thesis is paused. To continue: duckrow resume --project thesis\n"
    assert said(duckrow, "pause", "-p", "thesis")[1] == paused
    assert said(duckrow, "resume", "-p", "thesis") == (
        "",
        "duckrow: thesis continues; still paused: everything.\n",
        0,
    )
    assert said(duckrow, "resume") == ("", "duckrow: everything continues.\n", 0)
    assert said(duckrow, "resume", "-p", "thesis") == ("", "duckrow: 'thesis' is not paused.\n", 1)


def test_rerun(duckrow: Duckrow) -> None:
    duckrow.submit("--wait", "true")
    assert said(duckrow, "rerun", "1") == ("", "duckrow: 1 job is back in the queue: 1 (true, succeeded).\n", 0)
    duckrow("wait", "1")
    assert said(duckrow, "rerun", "--failed") == ("", "duckrow: 0 jobs are back in the queue.\n", 0)
    duckrow("pause")
    job = duckrow.submit("true")
    assert said(duckrow, "rerun", str(job)) == (
        "",
        f"duckrow: job {job} is queued; only finished jobs can run again.\n",
        1,
    )


def test_gpus_marks_what_is_drained(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1", "--slots", "1")
    duckrow("gpus", "drain", "1")
    rows = [line.split() for line in duckrow("gpus").stdout.split("\n")[1:-1]]
    assert rows == [["0", "daemon", "free"], ["1", "daemon", "drained"], ["cpu0", "daemon", "free"]]


@pytest.mark.parametrize("verb", ["kill", "wait", "rerun"])
def test_a_verb_that_needs_jobs_says_so(duckrow: Duckrow, verb: str) -> None:
    out, err, code = said(duckrow, verb)
    assert (out, code) == ("", 2)
    assert err.startswith("duckrow: Say which jobs")
    assert said(duckrow, verb, "77") == (
        "",
        "duckrow: There is no job 77. `duckrow ls --all` lists all jobs.\n",
        2,
    )
