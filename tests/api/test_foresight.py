"""`why` and the preview of new jobs: they judge as the host does that will place them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.adding.would_place import WouldPlace
from duckrow.api.client import Client
from duckrow.api.devices import gpus
from duckrow.api.queue.why import why
from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import JobSpec
from duckrow.core.memory.observation import FRESH_S
from duckrow.core.schedule.explain import SOON
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.devices.readings import ReadingStore
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock
from duckrow.store.jobs.control import ControlStore

AUTO = Needs(auto=True, recipe="train")
WHOLE_GPU = Needs()
SMALL = Machine(total_mb={"0": 24_000}, models={"0": "RTX 4090"})


WAITS = "it waits for a free device"


class Scene:
    """A daemon of which only its lock and its rows are there."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def learned(self, model: str, peak_mb: int) -> None:
        with self.client.database.transaction():
            PeakStore(self.client.database).learn(AUTO.recipe, model, peak_mb)

    def read(self, age_s: float = 0.0, **told: Any) -> None:
        """GPU 0 was read so long ago."""
        mono = time.monotonic() - age_s
        reading = {"mono": mono, "processes": [], "total_mb": 24_000, "free_mb": 24_000, **told}
        with self.client.database.transaction():
            ReadingStore(self.client.database).keep("0", time.time(), reading)

    def why(self, needs: Needs) -> list[str]:
        with self.client.database.transaction():
            (job_id,) = self.client.jobs.add(DAEMON, [JobSpec("true", "/", needs=needs)], {})
        return why(self.client, job_id)

    def would_place(self, needs: Needs, count: int = 1) -> list[str]:
        would = WouldPlace(self.client)
        return [would.place(JobSpec("true", "/", needs=needs))[0] for _ in range(count)]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(gpus, "_PATIENCE_S", 0.0)  # nobody is there to answer
    folder = Folder(tmp_path / "state").make()
    client = Client(folder)
    client.hosts.open(DAEMON, parse_gpus(["0"]), SMALL)
    lock = try_lock(folder, DAEMON)
    assert lock is not None
    yield Scene(client)
    unlock(folder, DAEMON, lock)
    client.close()


def test_what_was_learned_on_another_model_does_not_count(scene: Scene) -> None:
    scene.learned("H200", 60_000)  # more than there is here
    scene.learned("RTX 4090", 6_000)
    scene.read()
    assert scene.why(AUTO) == [SOON]


def test_the_preview_knows_what_was_learned(scene: Scene) -> None:
    scene.learned("RTX 4090", 6_000)
    scene.read()
    at_once = "it starts at once, on GPU 0"
    assert scene.would_place(AUTO, 4) == [at_once, at_once, at_once, "it waits for a free device"]


def test_a_job_that_leaves_no_room_has_its_gpu_to_itself(scene: Scene) -> None:
    scene.learned("RTX 4090", 22_000)  # with the margin it is more than there is
    scene.read()
    assert scene.would_place(AUTO, 2) == ["it starts at once, on GPU 0", "it waits for a free device"]
    assert scene.why(AUTO) == [SOON]


def test_a_gpu_that_was_not_read_of_late_is_not_taken_for_free(scene: Scene) -> None:
    scene.read(age_s=FRESH_S + 1)
    assert "the driver does not say who is using GPU 0" in scene.why(WHOLE_GPU)
    assert scene.would_place(WHOLE_GPU) == ["it waits for a free device, after 1 job"]


def test_a_gpu_without_a_library_is_what_the_user_says_it_is(scene: Scene) -> None:
    scene.client.hosts.open(DAEMON, parse_gpus(["0"]), Machine(total_mb={"0": 24_000}))
    assert scene.would_place(WHOLE_GPU) == ["it starts at once, on GPU 0"]
    assert scene.why(WHOLE_GPU) == [SOON]


def test_a_reading_of_before_the_machine_was_restarted_is_none(scene: Scene) -> None:
    scene.read(age_s=-1000)
    assert "the driver does not say who is using GPU 0" in scene.why(WHOLE_GPU)


def test_a_device_that_is_drained_gets_no_job(scene: Scene) -> None:
    scene.read()
    ControlStore(scene.client.database).wish_of_device("0", "drain")
    (told,) = scene.why(WHOLE_GPU)
    assert told.endswith("(0 drained)")
    assert scene.would_place(WHOLE_GPU) == [""]
    ControlStore(scene.client.database).wish_of_device("0", "add")  # what is to be added is there already
    assert scene.would_place(WHOLE_GPU, 2)[0] == "it waits for a free device, after 1 job"


@pytest.mark.parametrize(("state", "place"), [("starting", f"{WAITS}, after 1 job"), ("running", WAITS)])
def test_a_job_that_is_lined_up_behind_another_is_ahead_of_a_new_one(scene: Scene, state: str, place: str) -> None:
    """It is recorded as starting, on a device that is not free."""
    client = scene.client
    (slot,) = cpu_seats(1)
    client.hosts.open(DAEMON, [slot], Machine())
    with client.database.transaction():
        client.jobs.add(DAEMON, [JobSpec("true", "/")] * 2, {})
        client.database.execute("UPDATE jobs SET attempts = 1, state = ? WHERE id = 1", (state,))
        client.database.execute("UPDATE jobs SET attempts = 1, state = 'running' WHERE id = 2")
        client.database.execute(
            "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at)"
            " SELECT id, 1, 1, '', ?, '', 0 FROM jobs",
            (json.dumps(slot.holds),),
        )
    assert WouldPlace(client).place(JobSpec("true", "/"))[0] == place
