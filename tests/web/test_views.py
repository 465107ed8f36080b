"""Sweeps, devices, the timeline, metrics and the whole, over HTTP."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import pytest

from tests.conftest import Duckrow, until
from tests.web.conftest import API, Server

SWEEP = {"pattern": "echo {lr}; test {lr} = 0.1 || { echo boom {lr}; exit 1; }", "parameters": {"lr": "0.1 0.2 0.3"}}


def begun(server: Server, duckrow: Duckrow) -> dict[str, Any]:
    sweep: dict[str, Any] = server.post("/sweeps", {**SWEEP, "options": {"cwd": str(duckrow.work), "name": "fit"}}, 201)
    return sweep


# -- sweeps -------------------------------------------------------------------------------------------------------


def test_a_sweep_is_previewed_begun_and_looked_at(queue: Server, duckrow: Duckrow) -> None:
    shown = queue.post("/sweeps/preview", SWEEP)
    assert (shown["total"], shown["problems"]) == (3, [])
    assert shown["points"][0]["parameters"] == {"lr": 0.1}
    assert queue.get("/sweeps")["items"] == []
    sweep = begun(queue, duckrow)
    assert (sweep["name"], sweep["summary"], len(sweep["ids"])) == ("fit", "3 new", 3)
    for job_id in sweep["ids"]:
        duckrow.wait_for(job_id, "succeeded", "failed")
    board = queue.get(f"/sweeps/{sweep['sweep']}")
    assert board["counts"] == {"succeeded": 1, "failed": 2}
    assert board["parameters"] == ["lr"]
    assert [row["outcome"] for row in board["rows"]] == ["succeeded", "failed", "failed"]
    [failure] = board["failures"]
    assert (failure["count"], failure["ids"]) == (2, sweep["ids"][1:])
    [listed] = queue.get("/sweeps")["items"]
    assert (listed["total"], listed["counts"]) == (3, {"succeeded": 1, "failed": 2})
    assert [job["id"] for job in queue.get("/jobs", sweep="fit", status="failed", sort="id")["items"]] == sweep["ids"][
        1:
    ]


def test_what_failed_of_a_sweep_is_run_again_by_its_error(queue: Server, duckrow: Duckrow) -> None:
    sweep = begun(queue, duckrow)
    for job_id in sweep["ids"]:
        duckrow.wait_for(job_id, "succeeded", "failed")
    [failure] = queue.get(f"/sweeps/{sweep['sweep']}")["failures"]
    deed = queue.post(f"/sweeps/{sweep['sweep']}/rerun", {"failure": failure["text"]})
    assert deed["done"] == sweep["ids"][1:]
    until(lambda: queue.get(f"/jobs/{sweep['ids'][1]}")["attempts"] == 2, "the second attempt")
    assert "no error" not in queue.post(f"/sweeps/{sweep['sweep']}/rerun", {"failure": "x"}, 400)["error"]["sentence"]
    assert queue.post(f"/sweeps/{sweep['sweep']}/rerun", {"ids": [999]}, 400)["error"]["sentence"].startswith("Job 999")


def test_metrics_of_a_sweep_are_curves_and_columns(queue: Server, duckrow: Duckrow) -> None:
    pattern = "for s in 1 2 3; do echo '{\"step\": '$s', \"loss\": '$s'.5}' >> $DUCKROW_METRICS; done; echo {x}"
    sweep = queue.post(
        "/sweeps", {"pattern": pattern, "parameters": {"x": [1]}, "options": {"cwd": str(duckrow.work)}}, 201
    )
    duckrow.wait_for(sweep["ids"][0], "succeeded")
    [series] = queue.get(f"/sweeps/{sweep['sweep']}/metrics", metric="loss")["series"]
    assert series["points"] == [[1, 1.5], [2, 2.5], [3, 3.5]]
    few = queue.get(f"/sweeps/{sweep['sweep']}/metrics", metric="loss", max_points=2)["series"][0]["points"]
    assert few[-1] == [3, 3.5]
    [row] = queue.get(f"/sweeps/{sweep['sweep']}")["rows"]
    assert row["metrics"]["loss"] == 3.5
    with queue.script() as script:
        text = script.get(f"{API}/sweeps/{sweep['sweep']}/results.csv")
        assert text.headers["content-type"].startswith("text/csv")
        [written] = csv.DictReader(io.StringIO(text.text))
        assert (written["x"], written["loss"]) == ("1", "3.5")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"pattern": "echo {lr}"}, "no value for it"),
        ({"pattern": " "}, "There is no command"),
        ({"pattern": "echo {a}", "parameters": {"a": "0..99999"}}, "at most 10000"),
        ({"pattern": "echo {a}", "parameters": {"a": "'x"}}, "cannot be read"),
        ({"pattern": "echo {a}", "parameters": {"a": "1"}, "mode": "wild"}, "There is no mode"),
        ({"pattern": "echo {a}", "parameters": {"a": "1"}, "options": {"gpsu": 1}}, "Did you mean gpus?"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_with_the_sentence_of_its_preview(idle: Server, wish: Any, said: str) -> None:
    assert said in idle.post("/sweeps/preview", wish)["problems"][0]
    assert said in idle.post("/sweeps", wish, 400)["error"]["sentence"]


# -- devices and time ---------------------------------------------------------------------------------------------


def test_devices_tell_what_runs_on_them(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("sleep 600")
    duckrow.wait_for(job_id, "running")
    devices = queue.get("/devices")["items"]
    assert [(device["name"], device["state"]) for device in devices] == [("cpu0", "busy"), ("cpu1", "free")]
    assert devices[0]["jobs"][0]["id"] == job_id


def test_a_gpu_is_drained_given_out_again_added_and_removed(server: Server, duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    assert server.post("/devices/1/drain")["sentence"] == "GPU 1: it gets no new job."
    until(lambda: {d["name"]: d["state"] for d in server.get("/devices")["items"]}.get("1") == "draining", "the drain")
    server.post("/devices/1/undrain")
    server.post("/devices", {"names": ["3"]})
    until(lambda: "3" in {d["name"] for d in server.get("/devices")["items"]}, "GPU 3")
    server.post("/devices/3/remove")
    until(lambda: "3" not in {d["name"] for d in server.get("/devices")["items"]}, "the end of GPU 3")
    assert "has no GPU 9" in server.post("/devices/9/drain", {}, 400)["error"]["sentence"]
    assert "does not name a GPU" in server.post("/devices", {"names": ["all"]}, 400)["error"]["sentence"]


def test_a_gpu_that_is_set_aside_says_why_and_can_be_used_again(server: Server, duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    duckrow.sql(
        "INSERT INTO set_aside (host_id, device, why, at, boot_id) VALUES (1, '1', 'it fell off the bus', 0, '')"
    )
    states = {device["name"]: (device["state"], device["why"]) for device in server.get("/devices")["items"]}
    assert states["0"] == ("free", None)
    assert states["1"] == ("set-aside", "it fell off the bus. Reset it or restart the machine, then use it again")
    server.post("/devices/1/undrain")
    until(lambda: {d["name"]: d["state"] for d in server.get("/devices")["items"]}["1"] == "free", "GPU 1")


def test_the_timeline_has_a_bar_for_each_attempt(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("false", retries=1, backoff="0s")
    duckrow.wait_for(job_id, "failed")
    shown = queue.get("/timeline")
    bars = [bar for lane in shown["lanes"] for bar in lane["bars"]]
    assert [(bar["job"], bar["attempt"], bar["outcome"]) for bar in sorted(bars, key=lambda bar: bar["attempt"])] == [
        (job_id, 1, "failed"),
        (job_id, 2, "failed"),
    ]
    assert [lane["device"] for lane in shown["lanes"]] == ["cpu0", "cpu1"]
    long_ago = queue.get("/timeline", **{"from": 0, "to": time.time() - 3600})
    assert not any(lane["bars"] for lane in long_ago["lanes"])
    with queue.script() as script:
        assert script.get(f"{API}/timeline?from=5&to=4").status_code == 400


# -- the whole ----------------------------------------------------------------------------------------------------


def test_the_status_counts_jobs_by_project(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("true", project="a")
    duckrow.wait_for(job_id, "succeeded")
    queue.add("true", project="b", hold=True)
    queue.post("/queue/limit", {"project": "b", "max_running": 1})
    until(lambda: queue.get("/status")["counts"] == {"succeeded": 1, "queued": 1}, "the counts")
    status = queue.get("/status")
    assert status["projects"] == [
        {"name": "a", "counts": {"succeeded": 1}, "limit": None},
        {"name": "b", "counts": {"queued": 1}, "limit": 1},
    ]
    assert status["hosts"][0]["kind"] == "daemon"


def test_prometheus_gets_numbers_of_jobs_devices_and_the_scheduler(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("exit 1", project="thesis")
    duckrow.wait_for(job_id, "failed")
    with queue.script() as script:
        answer = script.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert "duckrow_scheduler_up 1" in lines
    assert 'duckrow_jobs{project="thesis",state="done",outcome="failed"} 1' in lines
    assert 'duckrow_device_jobs{device="cpu0",model="",host="daemon"} 0' in lines


def test_the_death_of_the_page_hurts_nobody_and_that_of_the_daemon_is_shown(queue: Server, duckrow: Duckrow) -> None:
    [job_id] = queue.add("sleep 600")
    duckrow.wait_for(job_id, "running")
    duckrow.kill_daemon()
    assert queue.get("/status")["daemon"] == {"running": False}
    assert queue.get(f"/jobs/{job_id}")["state"] == "running"
    duckrow.up()
    queue.process.kill()
    queue.process.wait()
    other = duckrow.submit("true")
    duckrow.wait_for(other, "succeeded")
    assert duckrow.state(job_id) == "running"
