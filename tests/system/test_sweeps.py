"""`duckrow sweep`: printed, run here, queued; each run in its own folder; continued where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, is_running, until

GATED = "while [ ! -e gate ]; do sleep 0.05; done"


def runs(duckrow: Duckrow) -> list[str]:
    """What `echo ... >> ran` in the runs has written."""
    path = duckrow.work / "ran"
    return sorted(path.read_text().split()) if path.exists() else []


def folder(duckrow: Duckrow, *parts: str) -> Path:
    return duckrow.work.joinpath("duckrow-runs", "default", *parts)


def test_what_is_printed_can_be_piped_and_means_the_same(duckrow: Duckrow) -> None:
    values = ["a b", "it's", '"q"', "$HOME", "`date`", "; rm -rf x", "*"]
    printed = duckrow("sweep", """printf '%s\\n' {x} '<{x}>' "<{x}>" """.strip(), "-p", "x", *values).stdout
    told = subprocess.run(["sh"], input=printed, capture_output=True, text=True, cwd=duckrow.work).stdout
    assert told.split("\n")[:-1] == [text for value in values for text in (value, f"<{value}>", f"<{value}>")]


# -- running --------------------------------------------------------------------------------------------------------

SWEEP = ["sweep", "echo {x} >> ran; test {x} != 2 || test -e fixed", "-p", "x"]


def test_a_sweep_that_is_still_run_elsewhere_is_refused_with_the_reason(duckrow: Duckrow) -> None:
    command = [f"{GATED}; echo {{x}}", "-p", "x"]
    duckrow("ls")  # makes the database
    first = duckrow.spawn("sweep", *command, "1", "--run", "--slots", "1", stderr=subprocess.DEVNULL)
    duckrow.wait_for(1, "running")
    refused = duckrow("sweep", *command, "2", "--run", "--slots", "1", ok=False)
    assert (refused.returncode, "has not ended" in refused.stderr) == (2, True)
    (duckrow.work / "gate").touch()
    assert first.wait(DEADLINE_S) == 0


def test_a_sweep_that_is_run_here_tells_its_failures_and_how_to_go_on(duckrow: Duckrow) -> None:
    done = duckrow(*SWEEP, "1..3", "--run", "--slots", "2", ok=False)
    assert done.returncode == 1
    assert "duckrow: sweep echo: 3 new.\n" in done.stderr
    assert "2 succeeded, 1 failed" in done.stderr
    assert "duckrow sweep --resume --name echo" in done.stderr
    assert runs(duckrow) == ["1", "2", "3"]


def test_the_same_command_again_runs_what_is_missing_or_failed(duckrow: Duckrow) -> None:
    duckrow(*SWEEP, "1..3", "--run", "--slots", "2", ok=False)
    (duckrow.work / "fixed").touch()
    again = duckrow(*SWEEP, "1..4", "--run", "--slots", "2")
    assert "sweep echo: 1 new, 1 that did not succeed run again, 2 skipped (succeeded before)." in again.stderr
    assert runs(duckrow) == ["1", "2", "2", "3", "4"]
    assert "sweep echo: 4 skipped" in duckrow(*SWEEP, "1..4", "--run").stderr
    assert len(runs(duckrow)) == 5


def test_resume_needs_no_command(duckrow: Duckrow) -> None:
    duckrow(*SWEEP, "1..3", "--run", "--slots", "1", ok=False)
    (duckrow.work / "fixed").touch()
    assert "1 that did not succeed run again, 2 skipped" in duckrow("sweep", "--resume").stderr
    assert runs(duckrow) == ["1", "2", "2", "3"]


def test_a_killed_sweep_continued_runs_exactly_the_missing_points(duckrow: Duckrow) -> None:
    words = ["sweep", f"{GATED}; echo {{x}} >> ran", "-p", "x", "0..9", "--run", "--slots", "2"]
    process = duckrow.spawn(*words, stderr=subprocess.DEVNULL)
    until((duckrow.home / "duckrow.db").exists, "the database")
    until(lambda: duckrow.sql("SELECT 1 FROM sqlite_master WHERE name = 'wishes'"), "the tables")
    until(lambda: duckrow.sql("SELECT count(*) FROM jobs WHERE state = 'running'") == [(2,)], "two runs")
    host = duckrow.sql("SELECT pid FROM hosts WHERE kind = 'run'")[0][0]
    os.kill(host, signal.SIGKILL)
    until(lambda: not is_running(host), "the host's end")
    (duckrow.work / "gate").touch()
    done = duckrow(*words)
    process.wait(DEADLINE_S)
    assert "8 that had not started" in done.stderr
    assert runs(duckrow) == sorted(str(number) for number in range(10))
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded' AND attempts = 1") == [(10,)]


def test_a_sweep_is_queued_and_can_be_listed_by_itself(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    duckrow.submit("true")
    done = duckrow(*SWEEP, "1", "3", "--submit")
    assert done.stdout == "2-3\n"
    duckrow("wait", "2-3")
    listed = json.loads(duckrow("ls", "--all", "--sweep", "echo", "--json").stdout)
    assert [(view["id"], view["sweep"], view["parameters"]) for view in listed] == [
        (2, "echo", {"x": 1}),
        (3, "echo", {"x": 3}),
    ]
    told = json.loads(duckrow(*SWEEP, "1", "3", "4", "--submit", "--json").stdout)
    assert (told["sweep"], told["jobs"]) == ("echo", [4])


def test_runs_that_a_dead_run_has_left_waiting_can_be_queued(duckrow: Duckrow) -> None:
    duckrow(*SWEEP, "1..4", "--run", "--slots", "1", "--max-failures", "1", ok=False)
    assert runs(duckrow) == ["1", "2"]
    duckrow.up("--slots", "1")
    (duckrow.work / "fixed").touch()
    assert "1 that did not succeed run again, 2 that had not started" in duckrow("sweep", "--resume", "--submit").stderr
    duckrow("wait", "1-4")
    assert runs(duckrow) == ["1", "2", "2", "3", "4"]


def test_points_that_are_no_longer_asked_for_do_not_run(duckrow: Duckrow) -> None:
    duckrow(*SWEEP, "2", "3", "4", "--run", "--slots", "1", "--max-failures", "1", ok=False)
    (duckrow.work / "fixed").touch()
    duckrow(*SWEEP, "2", "3", "--run")
    assert runs(duckrow) == ["2", "2", "3"]
    assert duckrow.state(3) == "skipped"


# -- folders --------------------------------------------------------------------------------------------------------


def test_a_run_s_folder_holds_what_is_known_of_it(duckrow: Duckrow) -> None:
    duckrow(
        "sweep", "echo hello; echo '{\"loss\": {lr}}' >> $DUCKROW_METRICS", "-p", "lr", "0.1", "--run", "--slots", "1"
    )
    run = folder(duckrow, "echo", "lr=0.1")
    assert sorted(path.name for path in run.iterdir()) == ["attempt-1.log", "code.json", "metrics.jsonl", "params.json"]
    assert json.loads((run / "params.json").read_text()) == {"lr": 0.1}
    assert (run / "attempt-1.log").read_text() == "hello\n"
    assert duckrow.job(1)["folder"] == str(run)


def test_values_that_agree_in_their_first_thirty_characters_have_folders_of_their_own(duckrow: Duckrow) -> None:
    values = ["v" * 40 + "1", "v" * 40 + "2", "a/b", "a_b", "../x"]
    duckrow("sweep", "echo {x} > $DUCKROW_RUN_DIR/out", "-p", "x", *values, "--run", "--slots", "2")
    found = {path.parent: path.read_text().strip() for path in folder(duckrow, "echo").glob("*/out")}
    assert sorted(found.values()) == sorted(values)


def test_two_sweeps_of_different_commands_have_folders_of_their_own(duckrow: Duckrow) -> None:
    duckrow("sweep", "echo {x}", "-p", "x", "1", "--run", "--slots", "1")
    duckrow("sweep", "echo again {x}", "-p", "x", "1", "--run", "--slots", "1")
    assert (folder(duckrow, "echo", "x=1", "attempt-1.log")).read_text() == "1\n"
    assert (folder(duckrow, "echo-2", "x=1", "attempt-1.log")).read_text() == "again 1\n"
    refused = duckrow("sweep", "echo more {x}", "-p", "x", "1", "--run", "--name", "echo", ok=False)
    assert refused.returncode == 2
    assert "There is a sweep 'echo' of another command here: echo {x}." in refused.stderr


def test_a_folder_that_another_duckrow_has_filled_is_left_alone(duckrow: Duckrow) -> None:
    words = ["sweep", "echo {x}", "-p", "x", "1", "--run", "--slots", "1"]
    duckrow(*words)
    duckrow(*words, env={"DUCKROW_HOME": str(duckrow.home.parent / "other")})
    assert (folder(duckrow, "echo", "x=1", "attempt-1.log")).read_text() == "1\n"
    assert (folder(duckrow, "echo", "x=1-2", "attempt-1.log")).read_text() == "1\n"


def test_removed_runs_leave_their_results(duckrow: Duckrow) -> None:
    duckrow("sweep", "echo {x}", "-p", "x", "1", "--root", "there", "--project", "mine", "--run", "--slots", "1")
    duckrow("rm", "1")
    assert (duckrow.work / "there/mine/echo/x=1/attempt-1.log").read_text() == "1\n"
    assert duckrow.sql("SELECT count(*) FROM points") == [(0,)]


# -- code -----------------------------------------------------------------------------------------------------------


def git(duckrow: Duckrow, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", *identity, *words], cwd=duckrow.work, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(duckrow: Duckrow) -> Duckrow:
    git(duckrow, "init", "-q")
    (duckrow.work / ".gitignore").write_text("data\nduckrow-runs\n")
    (duckrow.work / "code.sh").write_text("echo one\n")
    git(duckrow, "add", "-A")
    git(duckrow, "commit", "-q", "-m", "first")
    (duckrow.work / "code.sh").write_text("echo two\n")
    (duckrow.work / "data").mkdir()
    (duckrow.work / "data" / "numbers").write_text("42\n")
    return duckrow


def test_a_run_s_folder_says_which_code_it_was(repository: Duckrow) -> None:
    repository("sweep", "sh code.sh {x}", "-p", "x", "1", "--run", "--slots", "1")
    run = folder(repository, "code", "x=1")
    facts = json.loads((run / "code.json").read_text())
    assert facts["commit"] == git(repository, "rev-parse", "HEAD").strip()
    assert facts["changed"] is True
    assert "+echo two" in (run / "code.diff").read_text()


def test_a_snapshot_keeps_later_edits_away_from_what_waits(repository: Duckrow) -> None:
    (repository.work / "new.sh").write_text("echo new\n")
    repository.up("--slots", "1")
    blocker = repository.submit(GATED)
    command = "sh code.sh; sh new.sh; cat data/numbers; echo {x}"
    (job,) = json.loads(repository("sweep", command, "-p", "x", "1", "--submit", "--snapshot", "--json").stdout)["jobs"]
    (repository.work / "code.sh").write_text("echo three\n")
    (repository.work / "new.sh").unlink()
    (repository.work / "gate").touch()
    repository("wait", str(blocker), str(job))
    assert repository("logs", str(job)).stdout == "two\nnew\n42\n1\n"


def test_a_plain_job_may_have_a_snapshot_and_a_place_of_its_own(repository: Duckrow) -> None:
    repository.up("--slots", "1")
    blocker = repository.submit(GATED)
    first = repository.submit("--snapshot", "sh code.sh; cat data/numbers")
    second = repository.submit("--root", "runs", "--project", "mine", "--name", "it", "sh code.sh")
    (repository.work / "code.sh").write_text("echo three\n")
    (repository.work / "gate").touch()
    repository("wait", str(blocker), str(first), str(second))
    assert repository("logs", str(first)).stdout == "two\n42\n"
    assert repository("logs", str(second)).stdout == "three\n"
    place = repository.work / "runs/mine/it/1"
    assert repository.job(second)["folder"] == str(place)
    assert "+echo two" in (place / "code.diff").read_text()
    third = repository.submit("--root", "runs", "--project", "mine", "--name", "it", "true")
    assert repository.job(third)["folder"] == str(repository.work / "runs/mine/it/2")
