"""Devices as the page shows them: the state of each, its memory, its jobs, and whose else it is."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from duckrow.api.devices import gpus
from duckrow.api.devices.cards import device_cards, latest_readings
from duckrow.api.devices.gpus import GpuView
from duckrow.core.devices.inventory import WHOLE, cpu_seats, parse_gpus
from duckrow.core.devices.policy import Policy
from duckrow.core.devices.set_aside import SetAside
from duckrow.store.devices.readings import KeptReading, ReadingStore
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.control import ControlStore
from tests.api.quiet_queue import QuietQueue

GB = 1024


@pytest.fixture
def machine(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> QuietQueue:
    """A daemon over two GPUs of 80G."""
    monkeypatch.setattr(gpus, "_PATIENCE_S", 0.0)  # nobody is there to answer
    queue.offers(parse_gpus(["0", "1"]), {"0": 80 * GB, "1": 80 * GB}, policy=Policy(jobs_per_gpu=3))
    queue.up()
    return queue


def read(queue: QuietQueue, gpu: str, age_s: float = 0.0, **told: Any) -> None:
    known = {"model": "H200", "uuid": "GPU-1", "total_mb": 80 * GB, "free_mb": 80 * GB, "processes": [], **told}
    with queue.client.database.transaction():
        mono = time.monotonic() - age_s
        ReadingStore(queue.client.database).keep(gpu, time.time() + 1, {"mono": mono, **known})


def cards(queue: QuietQueue, asked_before_s: float = 60.0) -> dict[str, dict[str, Any]]:
    view = GpuView(queue.client, patient=False, asked_since=time.monotonic() - asked_before_s)
    return {card["name"]: card for card in device_cards(queue.client, view)["items"]}


def test_a_gpu_that_was_read_tells_what_is_free_of_it(machine: QuietQueue) -> None:
    read(machine, "0", free_mb=50 * GB, utilization=7, temperature=41)
    card = cards(machine)["0"]
    expected = {"kind": "gpu", "index": 0, "model": "H200", "uuid": "GPU-1", "total_mb": 80 * GB, "free_mb": 50 * GB}
    expected |= {"used_mb": 30 * GB, "utilization": 7, "temperature": 41, "state": "free", "why": None}
    assert expected.items() <= card.items()
    assert (card["reserved_mb"], card["jobs"], card["jobs_per_gpu"]) == (0, [], 3)


def test_one_that_was_never_read_has_its_size_only(machine: QuietQueue) -> None:
    card = cards(machine)["1"]
    assert (card["total_mb"], card["free_mb"], card["used_mb"], card["model"]) == (80 * GB, None, None, None)


def test_a_job_holds_its_share_and_uses_what_its_processes_have(machine: QuietQueue) -> None:
    one, other = machine.add("train", "eval")
    machine.start(one, "0", share=WHOLE // 2)
    machine.start(other, "0", share=WHOLE // 4)
    processes = [{"pid": os.getpid(), "mb": 3 * GB, "job_id": one}, {"pid": os.getpid(), "mb": GB, "job_id": one}]
    read(machine, "0", free_mb=70 * GB, processes=processes)
    card = cards(machine)["0"]
    assert (card["state"], card["reserved_mb"]) == ("busy", 60 * GB)
    assert [(job["name"], job["reserved_mb"], job["used_mb"], job["state"]) for job in card["jobs"]] == [
        ("train", 40 * GB, 4 * GB, "running"),
        ("eval", 20 * GB, 0, "running"),
    ]


def test_the_only_job_of_a_gpu_has_what_is_left_where_processes_are_not_told(machine: QuietQueue) -> None:
    machine.start(machine.add()[0], "0")
    read(machine, "0", free_mb=50 * GB, foreign_mb=10 * GB)
    (job,) = cards(machine)["0"]["jobs"]
    assert job["used_mb"] == 20 * GB


def test_what_is_not_told_of_a_process_is_not_known_of_its_job(machine: QuietQueue) -> None:
    (job,) = machine.add()
    machine.start(job, "0")
    read(machine, "0", free_mb=50 * GB, processes=[{"pid": os.getpid(), "mb": None, "job_id": job}])
    assert cards(machine)["0"]["jobs"][0]["used_mb"] is None


def test_the_processes_of_others_are_named(machine: QuietQueue) -> None:
    read(machine, "0", foreign_mb=2 * GB, processes=[{"pid": os.getpid(), "mb": 2 * GB, "job_id": None}])
    card = cards(machine)["0"]
    assert (card["state"], card["why"]) == ("foreign", "somebody else is using it")
    ((process),) = card["foreign"]
    assert (process["pid"], process["used_mb"]) == (os.getpid(), 2 * GB)
    assert process["user"]


def test_a_gpu_that_does_not_answer_is_missing_unless_it_was_asked_just_now(machine: QuietQueue) -> None:
    read(machine, "0", age_s=3600, free_mb=50 * GB)
    card = cards(machine)["0"]
    assert (card["state"], card["free_mb"], card["model"]) == ("missing", None, "H200")
    assert card["why"].startswith("it has not answered for 1h")
    assert cards(machine, asked_before_s=0.0)["0"]["state"] == "asked"


def test_one_that_is_drained_or_set_aside_says_so(machine: QuietQueue) -> None:
    ControlStore(machine.client.database).wish_of_device("0", "drain")
    with machine.client.database.transaction():
        SetAsideStore(machine.client.database).save(DAEMON, SetAside("1", "Xid 79", "boot"))
    for gpu in ("0", "1"):
        read(machine, gpu)
    found = cards(machine)
    assert (found["0"]["state"], found["0"]["why"]) == ("draining", "it gets no new job")
    assert found["1"]["state"] == "set-aside"
    assert found["1"]["why"].startswith("Xid 79. Reset it")


def test_devices_of_a_daemon_that_is_down_are_still_there_with_their_jobs(machine: QuietQueue) -> None:
    machine.start(machine.add("train")[0], "0")
    machine.down()
    found = cards(machine)
    assert {name: card["state"] for name, card in found.items()} == {"0": "unattended", "1": "unattended"}
    assert found["0"]["why"].endswith("its jobs keep running")
    assert found["1"]["why"] == "the daemon is not running: nothing starts here"


def test_cpu_slots_are_devices_too(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(2))
    queue.up()
    assert [(card["kind"], card["index"]) for card in cards(queue).values()] == [("cpu", None)] * 2


def test_the_latest_readings_are_told_without_asking_for_new_ones(machine: QuietQueue) -> None:
    processes = [
        {"pid": 1, "mb": 5, "job_id": 7},
        {"pid": 2, "mb": 6, "job_id": 7},
        {"pid": 3, "mb": 8, "job_id": None},
        {"pid": 4, "mb": None, "job_id": 9},
    ]
    read(machine, "0", free_mb=60 * GB, utilization=3, processes=processes)
    read(machine, "1", free_mb=None)
    found = latest_readings(machine.client)
    assert (found["0"].used_mb, found["0"].utilization, found["0"].jobs_mb) == (20 * GB, 3, {7: 11})
    assert found["1"].used_mb is None
    assert ReadingStore(machine.client.database).looked_at_until() == 0


def test_without_a_daemon_the_gpus_of_the_machine_are_read_here(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"model": "L4", "uuid": "GPU-9", "total_mb": 24 * GB, "free_mb": 20 * GB, "processes": []}
    kept = KeptReading(time.time(), time.monotonic(), told)
    monkeypatch.setattr(gpus, "read_here", lambda: {"0": kept})
    (gpu,) = GpuView(queue.client).all_of_this_machine()
    assert (gpu["device"], gpu["host"], gpu["model"], gpu["free_mb"]) == ("0", "", "L4", 20 * GB)
    queue.offers(parse_gpus(["1"]), {"1": GB})
    queue.up()
    assert [gpu["device"] for gpu in GpuView(queue.client, patient=False).all_of_this_machine()] == ["1"]
