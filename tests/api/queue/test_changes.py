"""That something has changed, and what, is told to those who watch."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.order import prioritise
from duckrow.api.python.handles import client_of
from duckrow.api.queue.changes import Change, ChangeWatch
from duckrow.core.jobs.job import JobSpec
from duckrow.store.folder.state_folder import Folder


@pytest.fixture
def home(tmp_path: Path) -> str:
    return Folder(tmp_path / "state").make().root


def test_nothing_is_told_as_long_as_nothing_changes(home: str) -> None:
    watch = ChangeWatch(home)
    assert watch.look() is None
    assert watch.look() is None


def test_a_new_job_and_a_changed_one_are_told_once(home: str) -> None:
    client, watch = client_of(home), ChangeWatch(home)
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
    assert watch.look() == Change(jobs=True, devices=True)
    assert watch.look() is None
    prioritise(client, [1], 5)
    assert watch.look() == Change(jobs=True, devices=True)


def read(client: Client, at: float, *more: str) -> None:
    """A host has read a GPU, and written what else there is in the same moment."""
    with client.database.transaction():
        client.database.execute("INSERT OR REPLACE INTO readings (device, at, reading) VALUES ('0', ?, '{}')", [at])
        for statement in more:
            client.database.execute(statement)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("duckrow.api.queue.changes.time.monotonic", lambda: now[0])
    return now


def test_readings_alone_are_no_change_of_jobs(home: str, clock: list[float]) -> None:
    client, watch = client_of(home), ChangeWatch(home)
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
    assert watch.look() == Change(jobs=True, devices=True)
    for at in (1.0, 2.0):
        clock[0] += 0.5
        read(client, at)
        assert watch.look() == Change(jobs=False, devices=True)


def test_what_starts_or_is_added_beside_a_reading_is_told_at_once(home: str, clock: list[float]) -> None:
    client, watch = client_of(home), ChangeWatch(home)
    read(client, 1.0)
    watch.look()
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
        client.database.execute("UPDATE readings SET at = 2")
    assert watch.look() == Change(jobs=True, devices=True)


def test_any_other_change_beside_readings_is_told_within_two_seconds(home: str, clock: list[float]) -> None:
    client, watch = client_of(home), ChangeWatch(home)
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
    watch.look()
    read(client, 1.0, "UPDATE jobs SET command = 'false'")
    assert watch.look() == Change(jobs=False, devices=True)
    clock[0] += 1.0
    assert watch.look() is None
    clock[0] += 1.0
    assert watch.look() == Change(jobs=True, devices=False), "although nothing more was read"
    assert watch.look() is None


def test_as_long_as_readings_come_jobs_are_told_every_two_seconds(home: str, clock: list[float]) -> None:
    client, watch = client_of(home), ChangeWatch(home)
    told = []
    for at in range(12):
        read(client, at)
        change = watch.look()
        told.append(change is not None and change.jobs)
        clock[0] += 0.5
    assert [at for at, jobs in enumerate(told) if jobs] == [0, 4, 8]
