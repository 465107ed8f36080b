"""`ls`, `show` and `logs`: what they print, as text and as JSON, and how they end."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path
from signal import SIGUSR1

import pytest

from duckrow.engines.dry.behaviour import Behaviour
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.cli.typed.shell import played
from tests.test_docs import DOCS, rows_of


@pytest.fixture
def worked(duckrow: DryDuckrow) -> DryDuckrow:
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


def test_ls_lists_what_is_asked_for(worked: DryDuckrow) -> None:
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


def test_ls_says_what_it_cannot_show(worked: DryDuckrow) -> None:
    no_page = "2 succeeded, 4 failed.\nThere is no page 9; the last is 2.\n"
    assert worked("ls", "-l", "4", "--page", "9").stderr == no_page
    assert worked("ls", "--page", "9" * 20).stderr.endswith(f"There is no page {'9' * 20}; the last is 1.\n")
    assert worked("ls", "--limit", "9" * 20, "-c", "id").stdout.split() == ["ID", *"123456"]
    assert (
        worked("ls", "1-3", "--name", "odd").stderr == "None of the 6 jobs match. `duckrow ls --all` lists them all.\n"
    )
    assert worked("ls", "3-6", "--limit", "2", "--page", "2", "-c", "id").stdout.split() == ["ID", "3", "4"]


@pytest.mark.parametrize("sort", ["", "-", "id,name"])
def test_ls_sorts_by_one_column_that_there_is(worked: DryDuckrow, sort: str) -> None:
    done = worked("ls", f"--sort={sort}", ok=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "column" in done.stderr


def test_a_paused_project_does_not_hide_that_no_daemon_runs(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--begin", "+1h", "--", "true")
    duckrow("pause", "--project", "other")
    duckrow("down")
    paused = "; other is paused (duckrow resume --project other)"
    assert duckrow("ls").stderr == f"1 queued{paused}; the daemon is not running (duckrow up).\n"


def test_that_no_daemon_runs_is_not_told_when_nothing_needs_it(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--hold", "--", "true")
    duckrow("down")
    assert duckrow("ls").stderr == "1 queued.\n"  # it starts when somebody releases it, daemon or not
    duckrow("release", "1")
    assert duckrow("ls").stderr == "1 queued; the daemon is not running (duckrow up).\n"


def test_ls_without_jobs_says_how_to_add_one(duckrow: DryDuckrow) -> None:
    done = duckrow("ls")
    assert (done.stdout, done.stderr) == ("", "No jobs yet. Add one: duckrow submit -- python train.py\n")


def test_an_eta_is_known_from_earlier_jobs_of_the_name(duckrow: DryDuckrow) -> None:
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


def test_an_eta_counts_only_the_places_that_a_job_could_have(duckrow: DryDuckrow) -> None:
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


def test_show_tells_all_that_is_known(duckrow: DryDuckrow) -> None:
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


def test_a_packed_job_is_not_said_to_need_a_gpu_to_itself(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    duckrow("submit", "--pack", "--hold", "--", "python train.py")
    duckrow("submit", "--pack", "--hold", "--gpus", "2", "--", "python train.py")
    assert " needs as much memory of a GPU as similar jobs take" in lines_of(duckrow("show", "1").stdout)
    assert " needs as much memory of each of 2 GPUs as similar jobs take" in lines_of(duckrow("show", "2").stdout)


def test_errors_are_shown_once_each_the_most_frequent_first(worked: DryDuckrow) -> None:
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


def test_logs_of_each_attempt_can_be_read(duckrow: DryDuckrow) -> None:
    duckrow.does("try", played("echo try 1; exit 1"), played("echo try 2"))
    duckrow(
        "submit",
        "--retries",
        "1",
        "--backoff",
        "0s",
        "--",
        "try",
    )
    duckrow("wait", "1")
    assert duckrow("logs", "1").stdout == "try 2\n"
    assert duckrow("logs", "1", "--attempt", "1").stdout == "try 1\n"
    wrong = duckrow("logs", "1", "--attempt", "3", ok=False)
    assert wrong.returncode == 2
    assert "Job 1 has no attempt 3. It has had 2" in wrong.stderr


def test_logs_fold_progress_bars_unless_they_are_wanted_raw(duckrow: DryDuckrow) -> None:
    duckrow.does("a bar", Behaviour(prints="begin\n 1%\r50%\r100%\nend\n"))
    duckrow("submit", "--", "a bar")
    duckrow("wait", "1")
    assert duckrow("logs", "1").stdout == "begin\n100%\nend\n"
    assert duckrow("logs", "--raw", "1").stdout == "begin\n 1%\r50%\r100%\nend\n"
    assert duckrow("logs", "--raw", "-t2", "1").stdout == " 1%\r50%\r100%\nend\n"


def test_the_end_of_a_huge_log_is_there_at_once(duckrow: DryDuckrow) -> None:
    duckrow("submit", "--", "echo small")
    duckrow("wait", "1")
    log = Path(duckrow.job(1)["log"])
    with log.open("r+b") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(b"line %d\n" % number for number in range(100)))
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert duckrow("logs", "-t", "50", "1").stdout.splitlines() == [f"line {number}" for number in range(50, 100)]
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.5  # of work, not of waiting


def test_a_signal_is_sent_only_where_a_process_handles_it(duckrow: DryDuckrow) -> None:
    duckrow.does("saves", Behaviour(runs_s=600, exits_on=((SIGUSR1, 0),)))
    duckrow.up("--slots", "2")
    deaf, saves = duckrow.submit("sleep 600"), duckrow.submit("saves")
    duckrow.wait_for(saves, "running")
    told = duckrow("kill", "--signal", "USR1", str(deaf), ok=False)
    assert (told.returncode, told.stderr) == (1, f"duckrow: job {deaf} has no process that handles USR1.\n")
    assert duckrow("kill", "--signal", "USR1", str(saves)).stderr == f"duckrow: USR1 sent to job {saves}.\n"
    assert duckrow("kill", "--signal", "INT", str(deaf)).stderr == f"duckrow: INT sent to job {deaf}.\n"
    noted = [event["detail"] for event in duckrow.job(deaf)["events"]]
    assert noted[-2:] == ["signal 10 was not sent: no process handles it", "signal 2 was sent"]
