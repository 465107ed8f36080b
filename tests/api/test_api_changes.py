"""That something has changed, and what, is told to those who watch."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.changes import Change, ChangeWatch
from duckrow.api.handles import client_of
from duckrow.api.jobs.order import prioritise
from duckrow.core.job import JobSpec
from duckrow.store.folder import Folder


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


def test_readings_alone_are_no_change_of_jobs(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("duckrow.api.changes.time.monotonic", lambda: now)
    client, watch = client_of(home), ChangeWatch(home)

    def read(at: float) -> None:
        with client.database.transaction():
            client.database.execute("INSERT OR REPLACE INTO readings (device, at, reading) VALUES ('0', ?, '{}')", [at])

    read(1.0)
    watch.look()  # how the jobs were before nobody knows
    now += 10
    read(2.0)
    assert watch.look() == Change(jobs=False, devices=True)
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
        client.database.execute("UPDATE readings SET at = 3")
    assert watch.look() == Change(jobs=True, devices=True)
    now += 10
    with client.database.transaction():
        client.database.execute("UPDATE jobs SET priority = 7")
        client.database.execute("UPDATE readings SET at = 4")
    assert watch.look() == Change(jobs=True, devices=True)


def test_a_change_beside_readings_is_told_a_little_later_if_jobs_were_looked_at_just_now(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("duckrow.api.changes.time.monotonic", lambda: now)
    client, watch = client_of(home), ChangeWatch(home)
    with client.database.transaction():
        client.jobs.add(1, [JobSpec("true", "/")], {})
        client.database.execute("INSERT INTO readings (device, at, reading) VALUES ('0', 1, '{}')")
    watch.look()
    for at in (2, 3):
        with client.database.transaction():
            client.database.execute(f"UPDATE jobs SET priority = {at}")
            client.database.execute(f"UPDATE readings SET at = {at}")
        told = watch.look()
        assert told is not None
    assert told == Change(jobs=False, devices=True)  # jobs were looked at with the reading before
    now += 10
    assert watch.look() == Change(jobs=True, devices=False)
