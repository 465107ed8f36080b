"""`ls`, `show` and `logs`: what they print, as text and as JSON, and how they end."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, read_to_end, until


@pytest.fixture
def worked(duckrow: Duckrow) -> Duckrow:
    """1 and 2 succeeded, 3 to 5 failed alike, 6 failed otherwise."""
    duckrow.up("--slots", "2")
    duckrow("submit", "--name", "prep", "--", "echo one; echo two")
    duckrow("submit", "--name", "prep", "--project", "thesis", "--", "echo thesis")
    for number in (3, 4, 5):
        duckrow(
            "submit", "--name", f"fit-{number}", "--", f"echo step; echo no such seat {number} at 0x7f{number}; exit 1"
        )
    duckrow("submit", "--name", "odd", "--", "echo otherwise; exit 7")
    duckrow("wait", "1-6", ok=False)
    return duckrow


def test_jobs_of_an_ended_run_do_not_hide_that_others_wait_for_the_daemon(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--begin", "+1h", "--project", "mine", "--", "true")
    duckrow("pause")
    run = duckrow.spawn("run", "--slots", "1", "--", "true", stderr=subprocess.DEVNULL)
    until(lambda: duckrow.sql("SELECT count(*) FROM jobs") == [(2,)], "the job of the run")
    run.kill()
    run.wait()
    duckrow("resume")
    duckrow("down")
    said = duckrow("ls", "--project", "mine").stderr
    assert "; the daemon is not running (duckrow up)" in said


def test_ls_watches_in_a_terminal_until_it_is_interrupted(worked: Duckrow) -> None:
    ours, theirs = pty.openpty()
    watching = worked.spawn("ls", "--watch", "0.1", stdout=theirs, stderr=theirs, env={"LINES": "12", "COLUMNS": "60"})
    os.close(theirs)
    seen = b""
    while seen.count(b"2 succeeded, 4 failed") < 3:
        seen += os.read(ours, 65536)
    watching.send_signal(signal.SIGINT)
    read_to_end(ours)
    assert watching.wait(DEADLINE_S) == 130
    assert seen.startswith(b"\x1b[2J\x1b[H")
    assert seen.count(b"\x1b[2J") == 1


def test_a_tree_can_be_watched(duckrow: Duckrow) -> None:
    first = duckrow.submit("--hold", "--", "true")
    duckrow.submit("--after", str(first), "--name", "second", "--", "true")
    ours, theirs = pty.openpty()
    watching = duckrow.spawn("ls", "--watch", "--tree", stdout=theirs, stderr=theirs, env={"LINES": "12"})
    os.close(theirs)
    seen = b""
    while b"2 queued" not in seen:
        seen += os.read(ours, 65536)
    watching.send_signal(signal.SIGINT)
    read_to_end(ours)
    assert watching.wait(DEADLINE_S) == 130
    assert "└ second" in seen.decode()


def test_what_an_interrupted_run_leaves_is_one_line_with_the_way_on_and_the_way_out(duckrow: Duckrow) -> None:
    duckrow("ls")
    run = duckrow.spawn("run", "--slots", "1", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdin
    run.stdin.write(b"sleep 600\n" + b"sleep 61\n" * 50)
    run.stdin.flush()
    duckrow.wait_for(1, "running")
    until(lambda: duckrow.state(51) == "queued", "job 51")
    assert duckrow("clean", "--run", "run-2", ok=False).stderr == (
        "duckrow: run-2 is still running. Press Ctrl-C there, or kill its jobs.\n"
    )
    run.kill()
    run.wait()
    run.stdin.close()
    until(lambda: not duckrow.lives(2), "the end of the run behind its keeper's")
    left = "run-2 has ended with 50 jobs left. Continue: duckrow run --resume=run-2. Drop: duckrow clean --run run-2"
    done = duckrow("ls")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ID", "1"]
    assert done.stderr == f"1 running.\n{left}\n"
    assert left in duckrow().stdout
    assert duckrow("ls", "--all").stdout.count("queued (run ended)") == 50
    assert duckrow("ls", "-s", "queued", "-c", "id").stdout.count("\n") == 51
    assert "a run that has ended (duckrow run --resume=run-2)" in duckrow("show", "2").stdout
    assert duckrow.job(2)["run_ended"]
    assert duckrow("clean", "--older-than", "1h").stderr == ("duckrow: 0 jobs done for longer than 1h 00m removed.\n")
    duckrow.sql("UPDATE jobs SET changed_at = changed_at - 7200 WHERE id > 49")
    assert duckrow("clean", "--older-than", "1h", "--dry-run").stderr == (
        "duckrow: 0 jobs done for longer than 1h 00m, and 2 jobs left by runs that have ended, would be removed.\n"
    )
    duckrow("clean", "--older-than", "1h")
    assert duckrow("clean", "--run", "run-2").stderr == "duckrow: 48 jobs left by run-2 removed.\n"
    assert duckrow("ls").stderr == "1 running.\n"
    assert duckrow("clean", "--run", "runs", ok=False).returncode == 2
    assert duckrow("clean", ok=False).returncode == 2


def test_following_goes_on_from_an_attempt_into_the_next(duckrow: Duckrow) -> None:
    script = 'echo try $DUCKROW_ATTEMPT; while [ ! -e "gate$DUCKROW_ATTEMPT" ]; do sleep 0.05; done; printf end; exit 1'
    duckrow("submit", "--retries", "2", "--backoff", "0s", "--", script)
    duckrow.wait_for(1, "running")
    follower = duckrow.spawn("logs", "-f", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert follower.stdout
    assert follower.stdout.readline() == b"try 1\n"
    for number in (3, 2, 1):  # the second attempt is over in no time
        (duckrow.work / f"gate{number}").touch()
    out, err = follower.communicate(timeout=DEADLINE_S)
    assert out == b"end\ntry 2\nend\ntry 3\nend\n"
    assert b"job 1 is being retried" in err


def test_following_can_begin_with_the_last_lines(duckrow: Duckrow) -> None:
    duckrow("submit", "--", "seq 100; while [ ! -e gate ]; do sleep 0.05; done; echo end")
    until(lambda: duckrow.state(1) == "running" and Path(duckrow.job(1)["log"]).read_text().endswith("100\n"))
    follower = duckrow.spawn("logs", "-f", "-t", "2", "1", stdout=subprocess.PIPE)
    assert follower.stdout
    assert follower.stdout.readline() == b"99\n"
    (duckrow.work / "gate").touch()
    assert follower.stdout.read() == b"100\nend\n"
    follower.stdout.close()
    assert follower.wait(DEADLINE_S) == 0
