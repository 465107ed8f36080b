"""Control of the queue, verb by verb: what is printed, what happens, and what wrong input gets."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from duckrow.core.schedule.backfill import MOST_OVERTAKERS
from duckrow.scheduler.state.queue_head import HEAD
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.cli.typed.shell import played


@pytest.fixture
def busy(duckrow: DryDuckrow) -> DryDuckrow:
    """A daemon with one slot, taken by job 1 until the gate is open."""
    duckrow.up("--slots", "1")
    duckrow("submit", "--name", "first", "gate gate")
    duckrow.wait_for(1, "running")
    return duckrow


def order_of(duckrow: DryDuckrow) -> list[int]:
    """The order in which the jobs started."""
    return [row[0] for row in duckrow.sql("SELECT job_id FROM attempts ORDER BY started_at, job_id")]


def test_hold_and_release(busy: DryDuckrow) -> None:
    job = busy.submit("true")
    assert busy("hold", str(job), "1").stderr == (
        "duckrow: job 1 is running: only queued jobs can be changed.\nduckrow: 1 job held.\n"
    )
    other = busy.submit("true")
    busy.open_gate()
    busy.wait_for(other, "succeeded")
    assert busy.state(job) == "queued"
    assert busy("why", str(job)).stdout == f"job {job}: it is held: duckrow release {job}\n"
    assert busy("release", str(job)).stderr == "duckrow: 1 job released.\n"
    busy.wait_for(job, "succeeded")
    assert busy("hold", "99", ok=False).returncode == 2


def test_a_job_may_be_submitted_held(busy: DryDuckrow) -> None:
    job = busy.submit("--hold", "true")
    busy.open_gate()
    busy.wait_for(busy.submit("true"), "succeeded")
    assert busy.state(job) == "queued"


def test_higher_priorities_start_first_and_order_can_be_changed(busy: DryDuckrow) -> None:
    for _ in range(4):
        busy.submit("true")
    busy.submit("--priority", "40", "true")
    assert busy("priority", "50", "4").stderr == "duckrow: 1 job given priority 50.\n"
    assert busy("move", "5", "--first").stderr == "duckrow: 5 moved.\n"
    busy("move", "3", "--before", "2")
    busy.open_gate()
    busy("wait", "1-6")
    assert order_of(busy) == [1, 4, 6, 5, 3, 2]


def test_a_wrong_move_is_told(busy: DryDuckrow) -> None:
    busy.submit("true")
    for words, sentence, code in (
        (["move", "1", "--first"], "Job 1 is running: only queued jobs can be changed.", 1),
        (["move", "2", "--before", "1"], "Job 1 is running", 1),
        (["move", "2", "--before", "2"], "before itself", 2),
        (["move", "2"], "Say where to", 2),
        (["move", "77", "--first"], "There is no job 77", 2),
    ):
        refused = busy(*words, ok=False)
        assert refused.returncode == code, words
        assert sentence in refused.stderr


def test_edit_by_flags_and_in_an_editor(busy: DryDuckrow) -> None:
    job = busy.submit("echo old")
    assert busy("edit", str(job), "--command", "echo new", "--timeout", "1h").stderr == (
        f"duckrow: job {job}: command, timeout_s changed.\n"
    )
    editor = busy.work / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/^retries = 0/retries = 3/" "$1"\n')
    editor.chmod(0o755)
    assert "retries changed" in busy("edit", str(job), env={"EDITOR": str(editor), "VISUAL": ""}).stderr
    assert busy.job(job)["retries"] == 3
    editor.write_text('#!/bin/sh\necho "nonsense" > "$1"\n')
    assert busy("edit", str(job), ok=False, env={"EDITOR": str(editor), "VISUAL": ""}).returncode == 2
    for line, sentence in (
        ('timeout_s = "soon"', "is not a time"),
        ("cwd = null", "A job needs cwd"),
        ("retries = true", "must be a whole number"),
        ('name = "a/b"', "cannot be a name"),
        ("state = 3", "cannot be changed"),
    ):
        editor.write_text(f"#!/bin/sh\necho '{line}' > \"$1\"\n")
        refused = busy("edit", str(job), ok=False, env={"EDITOR": str(editor), "VISUAL": ""})
        assert refused.returncode == 2, line
        assert sentence in refused.stderr
    editor.write_text('#!/bin/sh\necho \'timeout_s = "2h"\' > "$1"\n')
    busy("edit", str(job), env={"EDITOR": str(editor), "VISUAL": ""})
    assert busy.job(job)["timeout_s"] == 7200
    assert busy("edit", str(job), "--command", "", ok=False).returncode == 2
    editor.write_text("#!/bin/sh\nexit 1\n")
    assert "othing was changed" in busy("edit", str(job), ok=False, env={"EDITOR": str(editor), "VISUAL": ""}).stderr
    assert "Job 1 is running" in busy("edit", "1", "--priority", "1", ok=False).stderr
    busy.open_gate()
    busy.wait_for(job, "succeeded")
    assert busy("logs", str(job)).stdout == "new\n"


def test_rm_forgets_jobs_that_wait_or_are_done_with_their_folders(busy: DryDuckrow) -> None:
    waits, waiting_for_it = busy.submit("true"), busy.submit("--after", "2", "true")
    refused = busy("rm", "1", str(waits), ok=False)
    assert refused.returncode == 1
    assert "job 1 is running; kill it first" in refused.stderr
    assert f"job {waiting_for_it} is waiting for job {waits}; remove job {waiting_for_it} first" in refused.stderr
    assert busy("rm", str(waiting_for_it), str(waits), ok=False).stderr.endswith("1 job removed.\n")
    busy.open_gate()
    busy.wait_for(1, "succeeded")
    printed = busy.submit("echo hello")
    busy.wait_for(printed, "succeeded")
    folder = Path(busy.job(printed)["log"]).parent
    assert folder.exists()
    busy("rm", str(printed))
    assert not folder.exists()
    assert busy("show", str(printed), ok=False).returncode == 2


def test_clean_forgets_what_has_been_done_for_long(duckrow: DryDuckrow) -> None:
    for _ in range(3):
        duckrow.submit("true")
    duckrow("wait", "1-3")
    duckrow.sql("UPDATE jobs SET changed_at = changed_at - 864000 WHERE id < 3")
    assert duckrow("clean", "--older-than", "7d", "--dry-run").stderr == (
        "duckrow: 2 jobs done for longer than 7d 00h would be removed.\n"
    )
    duckrow("clean", "--older-than", "7d")
    assert duckrow.sql("SELECT id FROM jobs") == [(3,)]
    assert duckrow("clean", ok=False).returncode == 2


def test_a_job_waits_for_others_to_succeed_end_or_fail(busy: DryDuckrow) -> None:
    good, bad = busy.submit("true"), busy.submit("false")
    jobs = {
        "after both": busy.submit("--after", f"{good},{bad}", "true"),
        "after good": busy.submit("--after", f"afterok:{good}", "true"),
        "any end": busy.submit("--after", f"any:{bad}", "true"),
        "if bad": busy.submit("--after", f"failed:{bad}", "true"),
        "waits on": busy.submit("--if-broken", "wait", "--after", str(bad), "true"),
    }
    behind = busy.submit("--after", str(jobs["after both"]), "true")
    assert f"it waits for job {good} to succeed" in busy("why", str(jobs["after good"])).stdout
    busy.open_gate()
    for name in ("after good", "any end", "if bad"):
        busy.wait_for(jobs[name], "succeeded")
    busy.wait_for(jobs["after both"], "skipped")
    busy.wait_for(behind, "skipped")
    assert f"it waited for job {bad} to succeed, which failed" in busy.job(jobs["after both"])["detail"]
    assert busy.state(jobs["waits on"]) == "queued"
    held = busy.submit("--hold", "true")
    last = busy.submit("--after", "any:last", "true")
    assert busy.job(last)["after"] == [{"id": held, "condition": "any", "met": False}]
    for words, sentence in (
        (["--after", str(bad)], "which already failed"),
        (["--after", "99"], "There is no job 99"),
        (["--after", "soon:1"], "is not a condition"),
        (["--begin", "+999999999999d"], "too far away"),
    ):
        refused = busy("submit", *words, "true", ok=False)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_a_rerun_takes_the_chain_behind_it_along_and_may_change_it(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "2")
    duckrow("pause")
    first = duckrow.submit("false")
    second = duckrow.submit("--after", str(first), "echo second")
    third = duckrow.submit("--after", str(second), "echo third")
    duckrow("resume")
    duckrow.wait_for(third, "skipped")
    dry = duckrow("rerun", str(first), "--dry-run").stderr
    assert dry.endswith(f"duckrow: 2 jobs that were skipped would wait again: {second}-{third}.\n")
    said = duckrow("rerun", str(first), "--command", "true", "--priority", "60").stderr
    assert said == (
        f"duckrow: 1 job is back in the queue: {first} (false, failed).\n"
        f"duckrow: 2 jobs that were skipped wait again: {second}-{third}.\n"
    )
    duckrow("wait", f"{first}-{third}")
    assert [duckrow.state(job) for job in (first, second, third)] == ["succeeded"] * 3
    assert duckrow.job(first)["priority"] == 60


def test_jobs_that_wait_for_others_are_shown_as_a_tree(busy: DryDuckrow) -> None:
    busy("submit", "--name", "prep", "true")
    busy("submit", "--name", "other", "true")
    busy("submit", "--name", "fit", "--after", "prep", "true")
    busy("submit", "--name", "eval", "--after", "any:fit", "true")
    rows = busy("ls", "--tree", "--columns", "id,name").stdout.split("\n")[1:-1]
    assert [row.split(None, 1) for row in rows] == [
        ["1", "first"], ["2", "prep"], ["4", "└ fit"], ["5", "└ eval"], ["3", "other"],
    ]  # fmt: skip
    assert "after      job 4 to end" in busy("show", "5").stdout
    assert busy.job(5)["after"] == [{"id": 4, "condition": "any", "met": False}]


def test_begin_lets_a_job_wait_for_its_time(busy: DryDuckrow) -> None:
    later = busy.submit("--begin", "+1h", "true")
    soon = busy.submit("--begin", "+0.3s", "true")
    busy.open_gate()
    busy.wait_for(soon, "succeeded")
    assert busy.job(soon)["started_at"] >= busy.job(soon)["created_at"] + 0.25
    assert busy.state(later) == "queued"
    assert re.search(r"it starts in 5\dm", busy("why", str(later)).stdout)
    assert busy("submit", "--begin", "whenever", "true", ok=False).returncode == 2


def test_a_project_runs_no_more_jobs_at_a_time_than_its_limit(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "4")
    assert duckrow("limit", "thesis", "--max-running", "1").stderr == "duckrow: thesis: at most 1 job at a time.\n"
    thesis = [duckrow.submit("--project", "thesis", "gate gate") for _ in range(3)]
    other = duckrow.submit("--project", "other", "true")
    duckrow.wait_for(other, "succeeded")
    assert [duckrow.state(job) for job in thesis] == ["running", "queued", "queued"]
    assert "thesis may run 1 job at a time, and 1 is running" in duckrow("why", str(thesis[1])).stdout
    assert json.loads(duckrow("limit", "--json").stdout) == [{"project": "thesis", "max_running": 1}]
    duckrow("limit", "thesis", "--none")
    duckrow.wait_for(thesis[2], "running")
    duckrow.open_gate()
    assert duckrow("limit", "thesis", ok=False).returncode == 2


def test_who_waits_for_the_last_job_waits_for_its_whole_array(busy: DryDuckrow) -> None:
    busy.does("exit $DUCKROW_ARRAY_INDEX", played("exit 1"), played("exit 0"), played("exit 0"))
    busy("submit", "--array", "0-2", "exit $DUCKROW_ARRAY_INDEX")
    behind = busy.submit("--after", "last", "true")
    assert [each["id"] for each in busy.job(behind)["after"]] == [2, 3, 4]
    busy.open_gate()
    busy.wait_for(behind, "skipped")
    busy.does("test $DUCKROW_ARRAY_INDEX = 1", played("exit 1"), played("exit 0"))
    busy("submit", "--array", "0-1", "test $DUCKROW_ARRAY_INDEX = 1")
    assert busy("wait", "last", ok=False).returncode == 1


def test_submit_wait_returns_the_jobs_exit_code(duckrow: DryDuckrow) -> None:
    assert duckrow("submit", "--wait", "exit 9", ok=False).returncode == 9
    assert duckrow("submit", "--wait", "kill -9 $$", ok=False).returncode == 137
    duckrow.does("exit $DUCKROW_ARRAY_INDEX", played("exit 0"), played("exit 1"))
    assert duckrow("submit", "--wait", "--array", "0-1", "exit $DUCKROW_ARRAY_INDEX", ok=False).returncode == 1
    assert duckrow("submit", "--wait", "true").returncode == 0


def test_devices_are_drained_removed_and_added_while_the_daemon_runs(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    running = duckrow.submit("--gpus", "1", "gate gate")
    duckrow.wait_for(running, "running")
    assert "it gets no new job" in duckrow("gpus", "drain", "1").stderr
    waits = duckrow.submit("--gpus", "1", "true")
    assert "0 of 1 are free" in duckrow("why", str(waits)).stdout
    duckrow("gpus", "add", "5")
    duckrow.wait_for(waits, "succeeded")
    assert duckrow.job(waits)["devices"] == ["5"]
    assert "when its last job has ended" in duckrow("gpus", "remove", "0").stderr
    duckrow.open_gate()
    duckrow.wait_for(running, "succeeded")

    def names() -> list[str]:
        return [
            place["device"] for place in json.loads(duckrow("gpus", "--json").stdout) if "cpu" not in place["device"]
        ]

    assert names() == ["1", "5"]
    duckrow("gpus", "undrain", "1")
    both = duckrow.submit("--gpus", "2", "true")
    duckrow.wait_for(both, "succeeded")
    duckrow("down")
    duckrow("up")
    assert names() == ["1", "5"]
    assert duckrow("gpus", "drain", "9", ok=False).returncode == 2
    for wrong in ("zero", "0,1", "0+1", "all"):
        assert duckrow("gpus", "add", wrong, ok=False).returncode == 2


def test_a_job_of_four_gpus_is_not_starved_by_a_stream_of_small_ones(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1,2,3")
    first = [duckrow.submit("--gpus", "1", "gate gate") for _ in range(3)]
    big = duckrow.submit("--gpus", "4", "true")
    small = [duckrow.submit("--gpus", "1", "true") for _ in range(20)]
    assert f"job {big} comes first and is waiting itself" in duckrow("why", str(small[0])).stdout
    assert "GPU 0 is held by job" in duckrow("why", str(big)).stdout
    duckrow.open_gate()
    duckrow("wait", f"1-{small[-1]}")
    assert order_of(duckrow)[: len(first) + 1] == [*first, big]


def test_a_job_that_will_have_ended_in_time_may_overtake(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    running = duckrow.submit("--gpus", "1", "--timeout", "1h", "--grace", "1s", "gate gate")
    big = duckrow.submit("--gpus", "2", "true")
    long = duckrow.submit("--gpus", "1", "--timeout", "2h", "true")
    unlimited = duckrow.submit("--gpus", "1", "true")
    short = duckrow.submit("--gpus", "1", "--timeout", "1m", "--grace", "1s", "true")
    duckrow.wait_for(short, "succeeded")
    assert [duckrow.state(job) for job in (running, big, long, unlimited)] == ["running", "queued", "queued", "queued"]
    duckrow.open_gate()
    duckrow("wait", f"{big}-{unlimited}")


def test_packed_jobs_that_came_together_go_past_one_that_does_not_fit_yet(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0:24G")
    running = duckrow.submit("--gpu-mem", "10G", "gate gate")
    big = duckrow.submit("--gpu-mem", "20G", "true")
    duckrow.wait_for(duckrow.submit("--gpu-mem", "4G", "true"), "succeeded")
    important = duckrow.submit("--gpu-mem", "20G", "--priority", "50", "true")
    waits = duckrow.submit("--gpu-mem", "4G", "true")
    assert f"job {important} comes first and is waiting itself" in duckrow("why", str(waits)).stdout
    assert f"GPU 0 is held by job {running}" in duckrow("why", str(big)).stdout
    assert [duckrow.state(job) for job in (running, big, important, waits)] == ["running", *["queued"] * 3]
    duckrow.open_gate()
    duckrow("wait", "--all")


@pytest.mark.no_cover  # hundreds of ticks
def test_those_who_overtake_are_found_also_behind_the_head_of_the_queue(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0:24G")
    running = duckrow.submit("--gpu-mem", "10G", "gate gate")
    duckrow.wait_for(running, "running")
    duckrow("pause")
    big = duckrow.submit("--gpu-mem", "20G", "true")
    duckrow("submit", "--gpu-mem", "4G", "--file", "-", stdin="true\n" * (HEAD + 20))
    duckrow("resume")
    last = big + MOST_OVERTAKERS
    assert last == big + HEAD  # so it is the first that is not within the head
    duckrow.wait_for(last, "succeeded")
    assert [duckrow.state(job) for job in (big, last + 1, last + 20)] == ["queued"] * 3
    duckrow.open_gate()
    duckrow("wait", "--all")
    assert order_of(duckrow)[-21] == big


def test_why_tells_how_long_a_device_will_be_held(busy: DryDuckrow) -> None:
    busy.open_gate()
    busy.wait_for(1, "succeeded")
    busy.sql("UPDATE attempts SET started_at = ended_at - 900 WHERE job_id = 1")
    holder = busy.submit("--name", "first", "gate gate2")
    busy.wait_for(holder, "running")
    waiting = busy.submit("true")
    said = busy("why", str(waiting)).stdout
    assert f"CPU 0 is held by job {holder} (first) for about 15m 00s more" in said
    busy.open_gate("gate2")


def test_why_says_what_a_job_does_that_does_not_wait(duckrow: DryDuckrow) -> None:
    duckrow.submit("exit 3")
    duckrow("wait", "1", ok=False)
    assert duckrow("why").stdout == "job 1: it is not waiting: it failed\n"
    assert json.loads(duckrow("why", "1", "--json").stdout) == [{"id": 1, "reasons": ["it is not waiting: it failed"]}]
    duckrow("pause")
    job = duckrow.submit("true")
    assert "everything is paused: duckrow resume" in duckrow("why", str(job)).stdout
    duckrow("down")
    assert "the daemon is not running: duckrow up" in duckrow("why", str(job)).stdout
    assert duckrow("why", "77", ok=False).returncode == 2
    assert duckrow("why", "--nonsense", ok=False).returncode == 2
