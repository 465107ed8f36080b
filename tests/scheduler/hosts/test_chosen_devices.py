"""The devices that you chose for the daemon, kept when it restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import Policy
from duckrow.scheduler.devices.drains import Drains
from duckrow.scheduler.hosts import chosen_devices
from duckrow.scheduler.hosts.chosen_devices import DeviceChoice, keep, no_longer_chosen, remembered
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, keep_devices
from duckrow.store.sqlite.database import Database

POLITE = Policy(min_free_gpus=1, prefer=("1",), share=True, ignore=("Xorg",), margin_mb=512, mps="off")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(Folder(tmp_path / "state").make())
    yield database
    database.close()


def kept(database: Database, **known: Any) -> DeviceChoice:
    """What a daemon finds that was written as these values."""
    with database.transaction():
        keep_devices(database, json.dumps(known))
    return remembered(database, DeviceChoice())


def test_what_a_person_chose_is_chosen_again(database: Database) -> None:
    chosen = DeviceChoice(["0", "1"], 4, 2, policy=POLITE)
    keep(database, chosen)
    assert remembered(database, DeviceChoice(by_default=True)) == chosen
    other = DeviceChoice(["3"])
    assert remembered(database, other) == other


@pytest.mark.parametrize(
    ("now", "given_up"),
    [
        (DeviceChoice(["3"]), ["--jobs-per-gpu", "2", "--slots", "4", "--max-gpus", "1"]),
        (DeviceChoice(slots=1), ["--jobs-per-gpu", "2", "--max-gpus", "1", "--devices", "0", "--devices", "1"]),
        (DeviceChoice(["0"], 1, 3, policy=Policy(max_gpus=2)), []),
    ],
)
def test_what_was_chosen_and_is_not_named_again_is_told(
    database: Database, monkeypatch: pytest.MonkeyPatch, now: DeviceChoice, given_up: list[str]
) -> None:
    monkeypatch.setattr(chosen_devices, "cores", lambda: 8)
    assert no_longer_chosen(database, now) == []
    keep(database, DeviceChoice(["0", "1"], 4, 2, policy=Policy(max_gpus=1)))
    assert no_longer_chosen(database, now) == given_up


def test_slots_that_a_daemon_with_gpus_has_in_any_case_are_not_given_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_devices, "cores", lambda: 4)
    keep(database, DeviceChoice(slots=4))
    assert no_longer_chosen(database, DeviceChoice(["0"])) == []


def test_a_choice_that_an_older_version_wrote_is_read(database: Database) -> None:
    polite = {"min_free_gpus": 1, "max_gpus": None, "prefer": "1", "only_idle_gpus": False, "mem_margin": 512}
    written = {"devices": ["0", "1"], "slots": 4, "jobs_per_gpu": 2, "by_default": False, **polite}
    choice = kept(database, **written, mps="off", ignore="Xorg", share_gpus=True)
    assert choice == DeviceChoice(["0", "1"], 4, 2, policy=POLITE)


def test_a_choice_of_the_first_versions_calls_the_devices_gpus(database: Database) -> None:
    choice = kept(database, gpus=["0"], slots=None, jobs_per_gpu=1, by_default=False, max_gpus=1)
    assert choice == DeviceChoice(["0"], policy=Policy(max_gpus=1))


def test_a_gpu_that_is_added_leaves_the_policy_as_it_was_chosen(database: Database) -> None:
    """Else a daemon that was told to leave a GPU to others takes all of them after its next start."""
    state = HostState(DAEMON, [*parse_gpus(["0"]), *cpu_seats(2, side=True)], Machine(policy=POLITE))
    with database.transaction():
        database.execute("INSERT INTO device_wishes VALUES ('1', 'add', 1)", ())
        Drains(state, database).observe()
    assert remembered(database, DeviceChoice()) == DeviceChoice(["1", "0"], 2, policy=POLITE)
