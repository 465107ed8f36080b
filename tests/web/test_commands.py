"""What the command line can, HTTP can: each command has its routes, or a reason why it has none."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import click
import pytest

from duckrow.cli.group import cli
from tests.conftest import DEADLINE_S, Duckrow
from tests.web.conftest import API, Server
from tests.web.described import check_answer, description

PAGE = Path(__file__).parent.parent.parent / "docs" / "http.md"


def all_commands() -> set[str]:
    """As click knows them, with those below `gpus` and `memory`; older tools have commands of their own."""
    ctx = click.Context(cli)
    found = set()
    for verb in cli.list_commands(ctx):
        found.add(verb)
        command = cli.get_command(ctx, verb)
        if isinstance(command, click.Group) and verb != "dropin":
            found |= {f"{verb} {name}" for name in command.commands}
    return found


def table() -> dict[str, str]:
    """Command -> what the page says of it."""
    lines = PAGE.read_text().partition("| command | route |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [re.fullmatch(r"\| (.*?) \| (.*) \|", line) for line in lines]
    return {command: row[2] for row in rows if row for command in re.findall(r"`(.*?)`", row[1])}


def test_every_command_has_a_route_or_a_reason() -> None:
    assert set(table()) == all_commands()
    described = {
        f"{method.upper()} {path.removeprefix(API)}"
        for path, methods in description()["paths"].items()
        for method in methods
    }
    for command, told in table().items():
        routes = re.findall(r"`((?:GET|POST|PATCH) /.*?)`", told)
        assert set(routes) <= described, command
        assert routes or re.match(r"none: .{10,}", told), f"{command} has neither a route nor a reason"


def test_an_answer_with_a_field_more_or_less_is_found_by_these_tests() -> None:
    check_answer("POST", f"{API}/jobs", 201, {"ids": [1]})
    for wrong in ({}, {"ids": ["1"]}, {"ids": [1], "more": 1}):
        with pytest.raises(AssertionError):
            check_answer("POST", f"{API}/jobs", 201, wrong)


# -- submit, clean, wait, kill --now --------------------------------------------------------------------------------


def test_jobs_are_added_as_an_array_in_several_lines_and_into_a_folder(queue: Server, duckrow: Duckrow) -> None:
    body = {"text": "echo $DUCKROW_ARRAY_INDEX", "array": "2-6:2%1", "options": {"name": "a"}}
    assert [job["array_index"] for job in queue.post("/jobs/preview", body)["jobs"]] == [2, 4, 6]
    ids = queue.post("/jobs", body, 201)["ids"]
    for job_id, index in zip(ids, (2, 4, 6), strict=True):
        duckrow.wait_for(job_id, "succeeded")
        assert queue.get(f"/jobs/{job_id}/log")["text"] == f"{index}\n"
    body = {"text": "echo one\necho two\n--\necho three", "delimiter": "--", "root": "runs"}
    first, second = queue.post("/jobs", body, 201)["ids"]
    assert queue.get(f"/jobs/{first}")["command"] == "echo one\necho two"
    assert queue.get(f"/jobs/{second}")["folder"].startswith(f"{duckrow.work}/runs/")
    refused = queue.post("/jobs", {"text": "true\ntrue", "array": "0-1"}, 400)
    assert "An array is for one command" in refused["error"]["sentence"]
    assert "at most 10000" in queue.post("/jobs", {"text": "true", "array": "0-10000"}, 400)["error"]["sentence"]


def test_jobs_and_sweeps_for_a_cluster_are_not_run_here(queue: Server) -> None:
    away = {"options": {"on": "nowhere"}}
    assert "there is no such cluster" in queue.post("/jobs", {"text": "true", **away}, 400)["error"]["sentence"]
    assert "there is no such cluster" in queue.post("/sweeps", {"pattern": "true", **away}, 400)["error"]["sentence"]
    assert queue.get("/jobs")["total"] == 0


def test_what_has_been_done_for_long_is_forgotten_and_shown_before(queue: Server, duckrow: Duckrow) -> None:
    [old] = queue.add("true")
    duckrow.wait_for(old, "succeeded")
    queue.add("true", hold=True)
    assert queue.post("/jobs/clean", {"older_than": "0s", "dry_run": True}) == {"ids": [old], "removed": False}
    assert queue.post("/jobs/clean", {"older_than": "7d"})["ids"] == []
    assert queue.post("/jobs/clean", {"older_than": 0}) == {"ids": [old], "removed": True}
    assert [job["id"] for job in queue.get("/jobs")["items"]] == [2]
    assert "is not a time" in queue.post("/jobs/clean", {"older_than": "long"}, 400)["error"]["sentence"]


def test_who_waits_is_told_at_the_end_or_when_the_time_is_up(queue: Server, duckrow: Duckrow) -> None:
    waiting, failing = queue.add("until [ -e go ]; do sleep 0.05; done\nexit 3")
    early = queue.get("/jobs/wait", ids=[waiting, failing], timeout=0)
    assert (early["done"], waiting in early["waiting"]) == (False, True)
    (duckrow.work / "go").touch()
    told = queue.get("/jobs/wait", ids=[waiting, failing], timeout=DEADLINE_S)
    assert (told["done"], told["succeeded"], told["waiting"]) == (True, False, [])
    assert [job["outcome"] for job in told["items"]] == ["succeeded", "failed"]
    assert queue.get("/jobs/wait", ids=[waiting])["succeeded"] is True


def test_a_job_that_will_not_end_is_killed_at_once(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("trap '' TERM; while :; do sleep 0.1; done", grace="10m")
    duckrow.wait_for(job_id, "running")
    assert queue.post("/jobs/actions", {"action": "kill", "ids": [job_id], "now": True})["done"] == [job_id]
    duckrow.wait_for(job_id, "killed")
    assert queue.get(f"/jobs/{job_id}")["signal"] == signal.SIGKILL


# -- what jobs have said and measured -------------------------------------------------------------------------------


def test_errors_results_and_metrics_are_as_on_the_command_line(queue: Server, duckrow: Duckrow) -> None:
    pattern = "test {x} = 1 || { echo boom; exit 2; }"
    options = {"cwd": str(duckrow.work), "name": "fit"}
    body = {"pattern": pattern, "parameters": [{"x": [1, 2]}, {"x": [3]}], "root": "there", "options": options}
    sweep = queue.post("/sweeps", body, 201)
    first, *others = sweep["ids"]
    for job_id in sweep["ids"]:
        duckrow.wait_for(job_id, "succeeded", "failed")
    [group] = queue.get("/jobs/errors", sweep="fit")["items"]
    assert (group["error"], group["exit"], group["ids"]) == ("boom", ["2"], others)
    job = queue.get(f"/jobs/{first}")
    assert (job["sweep"], job["sweep_id"]) == ("fit", sweep["sweep"])
    assert job["run_folder"].startswith(f"{duckrow.work}/there/")
    assert queue.post(f"/jobs/{first}/metrics", {"loss": 0.5, "kind": "a"}) == {"noted": 2}
    assert queue.post(f"/jobs/{others[0]}/metrics", {"loss": 0.25}) == {"noted": 1}
    of_sweep = f"/sweeps/{sweep['sweep']}/results"
    assert [row["x"] for row in queue.get(of_sweep, sort="-x")["items"]] == [3, 2, 1]
    assert queue.get(of_sweep, where=["state=failed", "x<3"], columns="id,x")["items"] == [{"id": others[0], "x": 2}]
    assert queue.get(of_sweep, best="loss")["items"][0]["loss"] == 0.5  # of those that have succeeded
    with queue.script() as script:
        assert script.get(f"{API}{of_sweep}?per=x").status_code == 400
        assert script.get(f"{API}{of_sweep}?sort=colour").status_code == 400
        assert script.get(f"{API}{of_sweep}.csv?columns=id,x&sort=x").text.splitlines()[0] == "id,x"


def test_metrics_are_refused_before_a_job_has_begun_and_if_they_are_none(queue: Server) -> None:
    [job_id] = queue.add("true", hold=True)
    assert "it has not started" in queue.post(f"/jobs/{job_id}/metrics", {"loss": 1}, 409)["error"]["sentence"]
    assert "Say what to report" in queue.post(f"/jobs/{job_id}/metrics", {}, 400)["error"]["sentence"]
    assert queue.post(f"/jobs/{job_id}/metrics", {"loss": [1]}, 422)["error"]["sentence"]


def test_jobs_are_found_by_name_by_age_and_by_failure(queue: Server, duckrow: Duckrow) -> None:
    [failed] = queue.add("exit 1", name="train-1")
    [done] = queue.add("true", name="eval")
    for job_id in (failed, done):
        duckrow.wait_for(job_id, "failed", "succeeded")

    def ids(**query: Any) -> list[int]:
        return [job["id"] for job in queue.get("/jobs", sort="id", **query)["items"]]

    assert ids(name="train-*") == [failed]
    assert ids(failed=True) == [failed]
    assert (ids(since="1h"), ids(older_than="1h")) == ([failed, done], [])
    deed = queue.post("/jobs/actions", {"action": "rerun", "select": "failed=true&name=train-*&since=1h"})
    assert deed["done"] == [failed]


# -- the installation -----------------------------------------------------------------------------------------------


def test_settings_are_told_with_their_sources_and_the_doctor_looks(idle: Server) -> None:
    told = idle.get("/config")
    retries = next(item for item in told["items"] if item["setting"] == "job.retries")
    assert (retries["value"], retries["source"]) == (0, "default")
    with idle.script() as script:
        assert script.get(f"{API}/config?project=a/b").status_code == 400
        assert script.put(f"{API}/config", json={}).status_code == 405
    looked = idle.get("/doctor")
    assert {"duckrow", "database", "settings"} <= {finding["check"] for finding in looked["items"]}
    assert looked["problems"] == sum(finding["level"] == "problem" for finding in looked["items"])


def test_the_daemon_is_started_and_ended_and_the_page_goes_on(server: Server) -> None:
    assert server.post("/daemon/down") == {"ended": False, "still_running": 0}
    assert server.post("/daemon/up")["started"] is True
    assert server.post("/daemon/up")["started"] is False
    assert server.get("/status")["daemon"]["running"] is True
    assert server.post("/daemon/down", {"kill": True})["ended"] is True
    assert server.get("/status")["daemon"] == {"running": False}


def test_what_is_known_of_memory_is_shown_corrected_and_forgotten(idle: Server) -> None:
    assert idle.get("/memory") == {"items": []}
    assert (
        "Nothing has been learned" in idle.post("/memory/set", {"recipe": "a", "size": "1G"}, 400)["error"]["sentence"]
    )
    idle.duckrow.sql("INSERT INTO peaks (recipe, model, peak_mb, runs, at) VALUES ('train.py', 'H200', 900, 2, 1.0)")
    [peak] = idle.get("/memory")["items"]
    assert (peak["number"], peak["recipe"], peak["peak_mb"], peak["corrected"]) == (1, "train.py", 900, False)
    changed = idle.post("/memory/set", {"recipe": "train", "size": "12G"})["changed"]
    assert changed == [{"recipe": "train.py", "model": "H200", "peak_mb": 12_288}]
    assert "or 'all': true" in idle.post("/memory/forget", {}, 400)["error"]["sentence"]
    assert len(idle.post("/memory/forget", {"recipe": "1"})["changed"]) == 1
    assert idle.post("/memory/forget", {"all": True}) == {"changed": []}


def test_batches_of_clusters_are_listed_and_one_that_is_none_is_told(idle: Server, tmp_path: Path) -> None:
    assert idle.get("/batches") == {"items": []}
    assert "There is no batch" in idle.post("/batches/x/start", {}, 400)["error"]["sentence"]
    assert "batch.json" in idle.post("/batches", {"folder": str(tmp_path)}, 404)["error"]["sentence"]
