"""The daemon and the verbs around it."""

from __future__ import annotations

import json

from duckrow.engines.dry.behaviour import Behaviour
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.cli.typed.shell import played


def test_thousands_of_jobs_are_submitted_at_once(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("pause")
    done = duckrow("submit", "--file", "-", stdin="# list\n\n" + "".join(f"echo {n}\n" for n in range(3000)))
    assert done.stdout == "1-3000\n"
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE state = 'queued'") == [(3000,)]


def test_up_again_says_that_it_runs_and_devices_are_remembered(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    assert "is already running" in duckrow("up").stderr
    duckrow("down")
    assert "GPUs 0, 1" in duckrow("up").stderr


def test_up_with_other_devices_changes_those_of_a_daemon_that_runs_and_its_jobs_go_on(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0", "--slots", "1")
    job = duckrow.submit("--gpus", "1", "gate gate; exit 3")
    duckrow.wait_for(job, "running")
    refused = duckrow("up", "--devices", "x", ok=False)
    assert (refused.returncode, "'x' does not name GPUs" in refused.stderr) == (2, True)
    assert "with GPUs 1, 2 and 4 CPU slots" in duckrow("up", "--devices", "1,2", "--slots", "4").stderr
    assert duckrow.state(job) == "running"
    duckrow.open_gate()
    duckrow.wait_for(job, "failed")
    assert (duckrow.job(job)["exit_code"], duckrow.job(job)["attempts"]) == (3, 1)


def test_pause_starts_nothing_more_of_all_or_of_a_project(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "2")
    duckrow("pause", "--project", "slow")
    slow = duckrow.submit("--project", "slow", "--", "true")
    quick = duckrow.submit("--project", "quick", "--", "true")
    duckrow.wait_for(quick, "succeeded")
    assert duckrow.state(slow) == "queued"
    assert "slow is paused" in duckrow("ls").stderr
    duckrow("pause")
    duckrow("resume", "--project", "slow")
    assert duckrow.state(slow) == "queued"
    duckrow("resume")
    duckrow.wait_for(slow, "succeeded")


def test_rerun_is_a_further_attempt_of_the_same_job(duckrow: DryDuckrow) -> None:
    duckrow.does("second time", played("false"), played("true"))
    job = duckrow.submit("--", "second time")
    duckrow("wait", str(job), ok=False)
    duckrow("rerun", "--failed")
    assert duckrow("wait", str(job)).returncode == 0
    assert duckrow.job(job)["attempts"] == 2


def test_wait_tells_success_failure_and_time_out(duckrow: DryDuckrow) -> None:
    duckrow("submit", "--", "true")
    duckrow("submit", "--", "false")
    duckrow("submit", "--", "sleep 600")
    assert duckrow("wait", "1").returncode == 0
    assert duckrow("wait", "1-2", ok=False).returncode == 1
    assert duckrow("wait", "last", "--timeout", "0.2", ok=False).returncode == 124
    assert duckrow("wait", ok=False).returncode == 2


def test_ids_accept_ranges_names_and_last(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("pause")
    for name in ("a", "b", "a", "c"):
        duckrow("submit", "--name", name, "--", "true")

    def ids(*words: str) -> list[int]:
        return [view["id"] for view in json.loads(duckrow("ls", "--json", *words).stdout)]

    assert ids("1-2,4") == [1, 2, 4]
    assert ids("a") == [1, 3]
    assert ids("last") == [4]
    assert ids("b", "last") == [2, 4]
    for wrong, sentence in (("99", "no job 99"), ("nobody", "no job nobody"), ("4-2", "is in the wrong order")):
        refused = duckrow("show", wrong, ok=False)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_logs_of_several_jobs_stand_behind_their_names(duckrow: DryDuckrow) -> None:
    duckrow("submit", "--name", "x", "--", "echo 1; echo 2; echo 3")
    duckrow.does("bar", Behaviour(prints="a\rb\rprogress 100%\n"))
    duckrow("submit", "--name", "y", "--", "bar")
    duckrow("wait", "1-2")
    assert duckrow("logs", "1-2").stdout == "[1 x] 1\n[1 x] 2\n[1 x] 3\n[2 y] progress 100%\n"
    assert duckrow("logs", "-t", "1", "1").stdout == "3\n"


def test_impossible_jobs_are_refused_at_submit(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    refused = duckrow("submit", "--gpus", "3", "--", "true", ok=False)
    assert refused.returncode == 2
    assert "It asks for 3 GPUs, but there are 2: 0, 1. Ask for at most 2." in refused.stderr
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]


def test_a_job_of_two_gpus_is_not_overtaken_and_cpu_jobs_do_not_wait_for_it(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    first = duckrow.submit("--gpus", "1", "--", "gate one")
    pair = duckrow.submit("--gpus", "2", "--", "gate two")
    single = duckrow.submit("--gpus", "1", "--", "true")
    light = duckrow.submit("--cpu", "--", "true")
    duckrow.wait_for(light, "succeeded")
    assert [duckrow.state(job) for job in (first, pair, single)] == ["running", "queued", "queued"]
    duckrow.open_gate("one")
    duckrow.wait_for(pair, "running")
    assert duckrow.state(single) == "queued"
    duckrow.open_gate("two")
    duckrow.wait_for(single, "succeeded")
    assert duckrow.job(pair)["devices"] == ["0", "1"]


def test_gpus_shows_devices_and_who_has_them(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0,1")
    job = duckrow.submit("--name", "holder", "--", "sleep 600")
    duckrow.wait_for(job, "running")
    devices = json.loads(duckrow("gpus", "--json").stdout)
    held = {device["device"]: [j["name"] for j in device["jobs"]] for device in devices}
    assert held["0"] == ["holder"]
    assert held["1"] == []
    assert "holder" not in held.get("cpu0", [])


# -- what is typed while it is down ---------------------------------------------------------------------------------


def test_while_the_daemon_is_down_jobs_are_changed_and_none_starts(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    left, *queued = (duckrow.submit("sleep 600") for _ in range(5))
    duckrow.wait_for(left, "running")
    duckrow("down")
    killed, held, removed, stays = queued
    duckrow("kill", str(killed))
    duckrow("pause", str(held))
    duckrow("rm", str(removed))
    assert "1 job suspended" in duckrow("pause", str(left)).stderr
    assert "1 job running again" in duckrow("resume", str(left)).stderr
    duckrow("kill", str(left))
    states = [duckrow.state(job) for job in (killed, held, removed, left, stays)]
    assert states == ["killed", "queued", "", "killed", "queued"]
    assert "the daemon is not running" in duckrow("ls").stderr
    assert "not running" in duckrow("down").stderr


def test_rerun_adds_a_job_again_and_starts_the_daemon_as_submit_does(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    failed = duckrow.submit("false")
    duckrow.wait_for(failed, "failed")
    duckrow("down")
    duckrow("rerun", str(failed))
    assert "the daemon is not running" not in duckrow("ls").stderr
    duckrow("wait", str(failed), ok=False)
    assert duckrow.job(failed)["attempts"] == 2


def test_while_the_daemon_is_down_its_devices_are_changed_and_no_job_starts(duckrow: DryDuckrow) -> None:
    duckrow.up("--devices", "0")
    duckrow("pause")
    job = duckrow.submit("true")
    duckrow("down")
    duckrow("resume")
    duckrow("gpus", "add", "1")
    duckrow("gpus", "drain", "0")
    assert duckrow.state(job) == "queued"
    duckrow.up()
    duckrow.wait_for(job, "succeeded")
    assert duckrow.job(job)["devices"] == ["1"]


def test_who_submits_while_a_kill_is_seen_through_gets_a_daemon(duckrow: DryDuckrow) -> None:
    duckrow.does("deaf", Behaviour(runs_s=float("inf"), stops_after_s=None))
    duckrow.up("--slots", "2")
    deaf = duckrow.submit("deaf")
    duckrow.wait_for(deaf, "running")
    duckrow("down")
    duckrow("kill", str(deaf))
    assert duckrow.state(deaf) == "stopping"
    duckrow.wait_for(duckrow.submit("true"), "succeeded")
    duckrow.wait_for(deaf, "killed")


def test_down_kill_ends_what_a_dead_daemon_left(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    left, queued = duckrow.submit("sleep 600"), duckrow.submit("sleep 600")
    duckrow.wait_for(left, "running")
    duckrow.die()
    assert duckrow("down", "--kill").stderr == "duckrow: the daemon is not running. 1 job stopped.\n"
    assert (duckrow.state(left), duckrow.state(queued)) == ("killed", "queued")
