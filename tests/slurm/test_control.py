"""What people want of runs that wait on a real SLURM: hold, release, a priority; and lines of JSON."""

from __future__ import annotations

import json
import os

from tests.conftest import until
from tests.slurm.conftest import SETTINGS, SlurmDuckrow

ONE_BY_ONE = ["--on", "slurm", "--max-jobs", "1", "--parallel-runs", "1", "--file", "-"]
AWAIT_GO = "until test -e go; do sleep 0.05; done\n"


def test_runs_that_wait_are_held_released_and_put_in_order(duckrow: SlurmDuckrow) -> None:
    duckrow("submit", *ONE_BY_ONE, stdin=AWAIT_GO + "".join(f"echo {n} >> ran\n" for n in (2, 3, 4, 5)))
    until(lambda: duckrow("ls") and duckrow.states()[0] == "running", "the first")
    said = duckrow("hold", "1-3").stderr
    assert "job 1 is running: only queued jobs can be changed" in said
    assert "2 jobs held" in said
    assert duckrow("why", "2").stdout.strip().endswith("it is held: duckrow release 2")
    assert "1 job given" in duckrow("priority", "50", "5").stderr
    assert duckrow.sql("SELECT id, priority FROM jobs WHERE priority <> 30") == [(5, 50)]
    duckrow("kill", "3")  # one that is held
    (duckrow.work / "go").touch()
    duckrow("wait", "1", "4-5")
    assert duckrow.lines("ran") == ["5", "4"]
    assert duckrow.states()[1:3] == ["queued", "killed"]
    assert "1 job released" in duckrow("release", "2").stderr  # its SLURM job has ended: there is another
    duckrow("wait", "2")
    assert duckrow.lines("ran") == ["5", "4", "2"]


def test_a_batch_is_found_from_another_login_node_and_its_holds_undone(duckrow: SlurmDuckrow) -> None:
    duckrow("submit", "--on", "slurm", "-n", "shared", "--hold", "--", "echo done")
    assert not os.listdir(duckrow.batch() / "submitted")  # nothing to do for SLURM yet
    elsewhere = SlurmDuckrow(duckrow.home.parent / "other", duckrow.work)
    elsewhere.env = {**duckrow.env, "DUCKROW_HOME": str(elsewhere.home)}
    assert ".duckrow-slurm/shared" in elsewhere("batches").stderr  # it is found, and left to the user
    assert "shared" in elsewhere("batches", "--add").stdout
    assert "all are known" in elsewhere("batches", "--add").stderr
    assert elsewhere.sql("SELECT held FROM jobs") == [(1,)]
    elsewhere("release", "1")
    duckrow("wait", "1")
    assert duckrow.sql("SELECT held FROM jobs") == [(0,)]


def test_a_job_that_was_skipped_because_of_a_run_is_run_here_when_that_run_succeeds(duckrow: SlurmDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--on", "slurm", "--hold", "--", "test -e there")
    duckrow("submit", "--after", "1", "--", "true")
    duckrow("release", "1")
    duckrow("wait", "1-2", ok=False)
    assert duckrow.states() == ["failed", "skipped"]
    (duckrow.work / "there").touch()
    duckrow("rerun", "1")
    duckrow("wait", "1-2")
    assert duckrow.sql("SELECT outcome, host_id = 1 FROM jobs") == [("succeeded", 0), ("succeeded", 1)]


def test_runs_on_a_cluster_wait_for_jobs_here_and_for_each_other(duckrow: SlurmDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--", "until test -e go; do sleep 0.1; done; echo here >> ran")
    duckrow("submit", "--on", "slurm", "--after", "1", "--", "echo there >> ran; test -e there")
    duckrow("submit", "--on", "slurm", "--after", "2", "--", "echo then >> ran")
    duckrow("submit", "--on", "slurm", "--after", "2", "--", "true")
    assert duckrow("why", "2").stdout == "job 2: it waits for job 1 to succeed\n"
    assert not os.listdir(duckrow.batch() / "submitted")
    duckrow("kill", "4")
    (duckrow.work / "go").touch()
    duckrow("wait", "1-4", ok=False)
    assert duckrow.states() == ["succeeded", "failed", "skipped", "killed"]
    (duckrow.work / "there").touch()
    duckrow("rerun", "2")
    duckrow("wait", "1-3")
    assert duckrow.lines("ran") == ["here", "there", "there", "then"]
    assert duckrow.sql("SELECT count(DISTINCT host_id) FROM jobs") == [(4,)]  # each where it was to run


def test_lines_of_json_say_what_differs_between_runs(duckrow: SlurmDuckrow) -> None:
    lines = [
        {"command": "echo $WHO", "name": "first", "env": {"WHO": "me"}},
        {"command": "echo there", "folder": "there", "priority": 40},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    duckrow("run", "--on", "slurm", "--format", "json", stdin=text)
    assert duckrow("logs", "first").stdout == "me\n"
    assert (duckrow.work / "there" / "attempt-1.log").read_text() == "there\n"
    refused = duckrow("run", "--on", "slurm", "--format", "json", stdin='{"comand": "true"}\n', ok=False)
    assert refused.returncode == 2


def test_the_first_runs_begin_one_after_another_also_across_slurm_jobs(duckrow: SlurmDuckrow) -> None:
    duckrow.settings(f'{SETTINGS}stagger = "500ms"\n')
    words = ["--runs-per-job", "2", "--fixed-chunks", "--parallel-runs", "2"]
    duckrow("run", "--on", "slurm", *words, stdin="sleep 0.6\n" * 4)
    starts = sorted(row[0] for row in duckrow.sql("SELECT started_at FROM attempts"))
    began = min(card.stat().st_mtime for card in duckrow.batch().glob("pilots/*/card"))
    assert all(start >= began + 0.5 * place - 0.05 for place, start in enumerate(starts)), (began, starts)
