"""`ls`, `show` and `logs`: what they print, as text and as JSON, and how they end."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, read_to_end, until
from tests.test_docs import DOCS, rows_of


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


def lines_of(text: str) -> list[str]:
    """Without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "CLOCK", text)
    return [re.sub(r" +", " ", re.sub(r"\b\d+\.\ds\b", "TIME", line)) for line in text.splitlines()]


def test_ls_lists_what_is_asked_for(worked: Duckrow) -> None:
    done = worked("ls", "--failed", "--columns", "id,name,state,exit")
    assert done.stdout.splitlines() == [
        "ID  NAME   STATE   EXIT",
        "3   fit-3  failed  1",
        "4   fit-4  failed  1",
        "5   fit-5  failed  1",
        "6   odd    failed  7",
    ]
    assert done.stderr == "4 failed.\n"
    assert worked("ls", "--project", "thesis", "-c", "project,command,since,pid,eta").stdout.count("\n") == 2
    by_exit = worked("ls", "--sort", "-exit", "--limit", "2", "--columns", "id,exit")
    assert by_exit.stdout.splitlines() == ["ID  EXIT", "6   7", "3   1"]
    assert by_exit.stderr == "2 succeeded, 4 failed.\n4 more: add --page 2 or --all\n"
    assert worked("ls", "-c", "id", "-l", "4", "--page", "2").stdout.split() == ["ID", "1", "2"]
    assert worked("ls", "-s", "succeeded", "--outcome", "failed", "-n", "[fo]*", "-c", "id").stdout.split()[1:] == list(
        "3456"
    )
    assert worked("ls", "3,6", "--name", "odd", "--columns", "id").stdout.split() == ["ID", "6"]
    assert "None of the 6 jobs match." in worked("ls", "--older-than", "1h").stderr
    assert len(json.loads(worked("ls", "--since", "1h", "--json").stdout)) == 6
    assert json.loads(worked("ls", "--name", "nothing", "--json").stdout) == []


def test_ls_says_what_it_cannot_show(worked: Duckrow) -> None:
    no_page = "2 succeeded, 4 failed.\nThere is no page 9; the last is 2.\n"
    assert worked("ls", "-l", "4", "--page", "9").stderr == no_page
    assert worked("ls", "--page", "9" * 20).stderr.endswith(f"There is no page {'9' * 20}; the last is 1.\n")
    assert worked("ls", "--limit", "9" * 20, "-c", "id").stdout.split() == ["ID", *"123456"]
    assert (
        worked("ls", "1-3", "--name", "odd").stderr == "None of the 6 jobs match. `duckrow ls --all` lists them all.\n"
    )
    assert worked("ls", "3-6", "--limit", "2", "--page", "2", "-c", "id").stdout.split() == ["ID", "5", "6"]


@pytest.mark.parametrize("sort", ["", "-", "id,name"])
def test_ls_sorts_by_one_column_that_there_is(worked: Duckrow, sort: str) -> None:
    done = worked("ls", f"--sort={sort}", ok=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "column" in done.stderr


def test_a_paused_project_does_not_hide_that_no_daemon_runs(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--begin", "+1h", "--", "true")
    duckrow("pause", "--project", "other")
    duckrow("down")
    paused = "; other is paused (duckrow resume)"
    assert duckrow("ls").stderr == f"1 queued{paused}; the daemon is not running (duckrow up).\n"


def test_that_no_daemon_runs_is_not_told_when_nothing_needs_it(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--hold", "--", "true")
    duckrow("down")
    assert duckrow("ls").stderr == "1 queued.\n"  # it starts when somebody releases it, daemon or not
    duckrow("release", "1")
    assert duckrow("ls").stderr == "1 queued; the daemon is not running (duckrow up).\n"


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


def test_ls_without_jobs_says_how_to_add_one(duckrow: Duckrow) -> None:
    done = duckrow("ls")
    assert (done.stdout, done.stderr) == ("", "No jobs yet. Add one: duckrow submit -- python train.py\n")


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


def test_an_eta_is_known_from_earlier_jobs_of_the_name(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--name", "nap", "--", "true")
    duckrow("wait", "1")
    duckrow.sql("UPDATE attempts SET started_at = started_at - 1000 WHERE job_id = 1")
    for _ in range(2):
        duckrow("submit", "--name", "nap", "--", "sleep 600")
    duckrow("submit", "--name", "new", "--", "sleep 600")
    duckrow.wait_for(2, "running")
    views = {view["id"]: view for view in json.loads(duckrow("ls", "--json").stdout)}
    assert views[1]["eta_s"] is None
    assert 900 < views[2]["eta_s"] <= 1001
    assert 1900 < views[3]["eta_s"] <= 2002
    assert views[4]["eta_s"] is None
    assert 1900 < duckrow.job(3)["eta_s"] <= 2002
    header, *rows = duckrow("ls").stdout.splitlines()
    assert "ETA" in header.split()
    assert re.search(r"~33m \d\ds|~3\dm", rows[2])
    assert re.search(r"done in +~16m", duckrow("show", "2").stdout)
    duckrow("pause")
    assert duckrow.job(3)["eta_s"] is None


def test_an_eta_counts_only_the_places_that_a_job_could_have(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1", "--slots", "4")
    duckrow("submit", "--name", "nap", "--", "true")
    duckrow("wait", "1")
    duckrow.sql("UPDATE attempts SET started_at = started_at - 1000 WHERE job_id = 1")
    both = duckrow.submit("--name", "nap", "--gpus", "2", "--", "sleep 600")
    duckrow.wait_for(both, "running")
    waiting = [duckrow.submit("--name", "nap", "--", "sleep 600") for _ in range(4)]

    def thousands(jobs: list[int]) -> list[int]:
        return [round(duckrow.job(job)["eta_s"] / 1000) for job in jobs]

    assert thousands(waiting) == [2, 2, 3, 3], "behind the pair, two at a time, and none on the CPU slots"
    duckrow("gpus", "drain", "1")
    assert thousands(waiting) == [2, 3, 4, 5]
    beside = [duckrow.submit("--name", "nap", "--cpu", "--", "sleep 600") for _ in range(5)]
    duckrow.wait_for(beside[3], "running")
    assert thousands(beside) == [1, 1, 1, 1, 2]


def test_show_tells_all_that_is_known(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow(
        "submit", "--name", "fit", "--timeout", "2h", "--retries", "1", "--backoff", "0s",
        "-e", "SECRET=hush", "--", "echo hello; exit 3",
    )  # fmt: skip
    duckrow("wait", "1", ok=False)
    log = duckrow.job(1)["log"]
    assert lines_of(duckrow("show", "1").stdout) == [
        "job 1 default/fit failed",
        " command echo hello; exit 3",
        f" folder {duckrow.work}",
        " submitted DATE, to daemon",
        " needs a device",
        " priority 30",
        " time limit 2h 00m",
        " retries 1",
        " attempt 1, on CPU 0, DATE for TIME, failed, exit 3, failed, retry 1 of 1",
        f" log {str(log).replace('attempt-2', 'attempt-1')}",
        " attempt 2, on CPU 0, DATE for TIME, failed, exit 3",
        f" log {log}",
        *lines_of(duckrow("show", "1").stdout)[12:],
    ]
    assert lines_of(duckrow("show", "1").stdout)[-1].endswith("-> failed")
    with_names = duckrow("show", "1", "--env").stdout
    assert re.search(r"^  variables .*\bSECRET\b", with_names, re.MULTILINE)
    assert "hush" not in with_names
    told = duckrow("show", "1", "--env", "--json").stdout
    assert "SECRET" in json.loads(told)[0]["variables"]
    assert "hush" not in told
    assert "variables" not in duckrow.job(1)
    wrong = duckrow("show", "77", ok=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no job 77" in wrong.stderr


def test_errors_are_shown_once_each_the_most_frequent_first(worked: Duckrow) -> None:
    done = worked("logs", "--errors")
    assert done.stdout.splitlines() == [
        "3 jobs failed (exit 1): 3-5",
        "  | step",
        "  | no such seat 3 at 0x7f3",
        "  again: duckrow rerun 3-5",
        "",
        "1 job failed (exit 7): 6",
        "  | otherwise",
        "  again: duckrow rerun 6",
    ]
    assert done.stderr == "4 jobs did not succeed, with 2 errors.\n"
    groups = json.loads(worked("logs", "--errors", "--json").stdout)
    assert [(group["count"], group["ids"]) for group in groups] == [(3, [3, 4, 5]), (1, [6])]
    assert set(groups[0]) == rows_of((DOCS / "json.md").read_text(), "An error")
    assert worked("logs", "--errors", "-t", "1", "6").stdout.splitlines()[1:-1] == ["  | otherwise"]
    nothing = worked("logs", "--errors", "1")
    assert (nothing.stdout, nothing.stderr) == ("", "No job has failed.\n")


def test_logs_of_each_attempt_can_be_read(duckrow: Duckrow) -> None:
    duckrow(
        "submit",
        "--retries",
        "1",
        "--backoff",
        "0s",
        "--",
        'echo try $DUCKROW_ATTEMPT; exit "$((2 - DUCKROW_ATTEMPT))"',
    )
    duckrow("wait", "1")
    assert duckrow("logs", "1").stdout == "try 2\n"
    assert duckrow("logs", "1", "--attempt", "1").stdout == "try 1\n"
    wrong = duckrow("logs", "1", "--attempt", "3", ok=False)
    assert wrong.returncode == 2
    assert "Job 1 has no attempt 3. It has had 2" in wrong.stderr


def test_logs_fold_progress_bars_unless_they_are_wanted_raw(duckrow: Duckrow) -> None:
    duckrow("submit", "--", r"printf 'begin\n 1%%\r50%%\r100%%\nend\n'")
    duckrow("wait", "1")
    assert duckrow("logs", "1").stdout == "begin\n100%\nend\n"
    raw = subprocess.run(duckrow.command("logs", "--raw", "1"), env=duckrow.env, capture_output=True, check=True)
    assert raw.stdout == b"begin\n 1%\r50%\r100%\nend\n"
    tail = subprocess.run(
        duckrow.command("logs", "--raw", "-t2", "1"), env=duckrow.env, capture_output=True, check=True
    )
    assert tail.stdout == b" 1%\r50%\r100%\nend\n"


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


def test_the_end_of_a_huge_log_is_there_at_once(duckrow: Duckrow) -> None:
    duckrow("submit", "--", "echo small")
    duckrow("wait", "1")
    log = Path(duckrow.job(1)["log"])
    with log.open("r+b") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(b"line %d\n" % number for number in range(100)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert duckrow("logs", "-t", "50", "1").stdout.splitlines() == [f"line {number}" for number in range(50, 100)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.5  # of work, not of waiting
