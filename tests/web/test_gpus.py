"""GPUs over HTTP: memory, heat, everybody's share, and their last minutes."""

from __future__ import annotations

import getpass
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.store.folder.state_folder import Folder
from duckrow.web.answers.device_cache import DeviceCache
from tests.conftest import Duckrow, until
from tests.fake_nvml import FakeGpus
from tests.web.conftest import Server

pytest_plugins = ("tests.fake_nvml.plugin",)


@pytest.fixture
def machine(duckrow: Duckrow, gpus: FakeGpus, serve: Callable[..., Server]) -> Iterator[Server]:
    """A server beside a daemon over two GPUs of 100,000 MB."""
    gpus.add("NVIDIA H200", memory_mb=100_000, temperature=41)
    gpus.add("NVIDIA H200", memory_mb=100_000, temperature=30)
    duckrow.env.update(gpus.env())
    ready, told = os.pipe()
    words = ("up", "--foreground", "--ready-fd", str(told), "--devices", "0,1")
    with duckrow.spawn(*words, pass_fds=(told,), stderr=subprocess.PIPE) as daemon:
        os.close(told)
        assert os.read(ready, 5) == b"ready"
        yield serve()
        duckrow("down", "--kill", ok=False)
        os.close(ready)
        daemon.communicate()


@pytest.fixture
def colleague() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"]}) as sleeper:
        yield sleeper
        sleeper.kill()


def card(server: Server, name: str = "0") -> dict[str, Any]:
    cards: dict[str, dict[str, Any]] = {device["name"]: device for device in server.get("/devices")["items"]}
    return cards[name]


def test_a_gpu_shows_what_each_takes_and_what_is_promised(
    machine: Server, gpus: FakeGpus, colleague: subprocess.Popen[bytes]
) -> None:
    gpus.allocate(colleague.pid, 0, 5_000)
    command = gpus.job("--ramp", "0:20000", "--hold", "600", "--util", "35")
    [job_id] = machine.add(command, gpu_mem="30G", gpus=1)
    until(lambda: any(card(machine, name)["jobs"] and card(machine, name)["used_mb"] >= 20_000 for name in "01"), "it")
    name = next(name for name in "01" if card(machine, name)["jobs"])
    shown = card(machine, name)
    [job] = shown["jobs"]
    assert (job["id"], job["used_mb"], job["reserved_mb"]) == (job_id, 20_000, 30_720)
    assert (shown["model"], shown["total_mb"], shown["state"]) == ("NVIDIA H200", 100_000, "busy")
    until(lambda: card(machine)["foreign"], "the process of a colleague")
    [foreign] = card(machine)["foreign"]
    assert (foreign["user"], foreign["command"], foreign["used_mb"]) == (getpass.getuser(), "sleep", 5_000)
    assert card(machine)["temperature"] == 41


def test_the_last_minutes_of_a_gpu_are_kept_while_somebody_looks(machine: Server, gpus: FakeGpus) -> None:
    def points() -> list[list[Any]]:
        machine.get("/devices")
        items = machine.get("/devices/history", minutes=5)["items"]
        return next((item["points"] for item in items if item["name"] == "0"), [])

    kept = until(lambda: len(found := points()) >= 2 and found, "two readings")
    assert kept[0][0] < kept[1][0]
    assert kept[0][1:] == [0, 0, 41]


def test_the_hours_before_the_page_was_opened_are_there(machine: Server, duckrow: Duckrow) -> None:
    an_hour_ago = time.time() - 3600
    duckrow.sql("INSERT INTO reading_history VALUES (?, '0', ?, 7000, 55, 66, 1)", int(an_hour_ago // 10), an_hour_ago)
    items = machine.get("/devices/history", minutes=120)["items"]
    first = next(item["points"] for item in items if item["name"] == "0")[0]
    assert first[1:] == [7000, 55, 66]


def test_prometheus_gets_memory_and_heat(machine: Server, gpus: FakeGpus) -> None:
    def lines() -> list[str]:
        with machine.script() as script:
            told: list[str] = script.get("/metrics").text.splitlines()
            return told

    wanted = 'duckrow_device_memory_total_bytes{device="0",model="NVIDIA H200",host="daemon"} 104857600000'
    until(lambda: wanted in lines(), wanted)
    heat = 'duckrow_device_temperature_celsius{device="1",model="NVIDIA H200",host="daemon"} 30'
    until(lambda: heat in lines(), heat)


def test_the_curve_of_a_job_is_seen_while_it_runs_and_kept_when_it_has_ended(
    machine: Server, gpus: FakeGpus, duckrow: Duckrow
) -> None:
    [job_id] = machine.add(gpus.job("--ramp", "0:8000", "--hold", "600"), gpus=1)

    def most() -> int:
        machine.get("/devices")  # somebody looks
        points = machine.get(f"/jobs/{job_id}/curve")["points"]
        return max((point["memory_mb"] for point in points), default=0)

    until(lambda: most() == 8000, "its memory, while it runs")
    machine.post("/jobs/actions", {"action": "kill", "ids": [job_id]})
    duckrow.wait_for(job_id, "killed")
    assert most() == 8000
    assert machine.get(f"/jobs/{job_id}/curve")["reserved_mb"] == 100_000


def test_a_preview_says_what_could_never_start(machine: Server) -> None:
    shown = machine.post("/jobs/preview", {"text": "true", "options": {"gpu_mem": "200G"}})
    assert "can never start" in shown["problems"][0]
    shown = machine.post("/jobs/preview", {"text": "true\ntrue\ntrue", "options": {"gpus": 1}})
    assert [job["placement"].split(",")[0] for job in shown["jobs"]] == [
        "it starts at once",
        "it starts at once",
        "it waits for a free device",
    ]


def test_a_gpu_that_nobody_has_looked_at_for_a_while_is_not_said_to_be_missing(
    machine: Server, duckrow: Duckrow
) -> None:
    board = DeviceCache()

    def states() -> set[str]:
        board._cards = None
        return {str(device["state"]) for device in board.cards(client)["items"]}

    with closing(Client(Folder(duckrow.home))) as client:
        until(lambda: states() == {"free"}, "a first look")
        for begun in (-100, -50):  # somebody looked until 49 s ago
            now = time.monotonic()
            board._asked_at = (now + begun, now - 49)
            duckrow.sql("UPDATE readings SET reading = json_set(reading, '$.mono', ?)", now - 49)
            duckrow.sql("UPDATE meta SET value = ? WHERE key = 'looked at until'", str(now - 44))
            assert states() <= {"free", "asked"}
        until(lambda: states() == {"free"}, "they are read again")


def test_without_a_daemon_its_gpus_are_still_shown_with_what_runs_on_them(machine: Server, duckrow: Duckrow) -> None:
    [job_id] = machine.add("sleep 600", gpus=1)
    duckrow.wait_for(job_id, "running")
    duckrow("down")
    cards = {device["name"]: device for device in machine.get("/devices")["items"] if device["kind"] == "gpu"}
    assert {name: (device["host"], device["state"]) for name, device in cards.items()} == {
        "0": ("daemon", "unattended"),
        "1": ("daemon", "unattended"),
    }
    [busy] = [device for device in cards.values() if device["jobs"]]
    assert busy["why"] == "the daemon is not running: nothing starts here; its jobs keep running"
    assert {device["total_mb"] for device in cards.values()} == {100_000}
