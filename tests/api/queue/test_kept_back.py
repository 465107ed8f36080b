"""Who waits for jobs that a person keeps back is told so, and what to type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.queue.attendance import Attendance
from duckrow.api.queue.kept_back import kept_back
from duckrow.core.jobs.job import JobSpec
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.life.suspension import standing_wish

RUNNING, FIRST, SECOND, OF_THESIS = 1, 2, 3, 4
ALL = [RUNNING, FIRST, SECOND, OF_THESIS]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Job 1 runs; 2, 3 and 4 wait, the last of them in a project."""
    client = Client(Folder(tmp_path / "state").make())
    with client.database.transaction():
        client.jobs.add(DAEMON, [JobSpec("true", "/")] * 3 + [JobSpec("true", "/", project="thesis")], {})
        client.database.execute("UPDATE jobs SET state = 'running' WHERE id = ?", (RUNNING,))
    yield client
    client.close()


def hold(client: Client, *ids: int) -> None:
    with client.database.transaction():
        for job_id in ids:
            client.database.execute("UPDATE jobs SET held = 1 WHERE id = ?", (job_id,))


def suspend(client: Client, job_id: int, by_itself: bool) -> None:
    with client.database.transaction():
        wish = standing_wish(5.0, by_itself)
        client.database.execute("INSERT INTO wishes (job_id, wish, at) VALUES (?, ?, 5)", (job_id, wish))


def test_jobs_that_wait_or_run_are_not_kept_back(client: Client) -> None:
    assert kept_back(client, ALL) == []


def test_held_jobs_are_named_with_what_releases_them(client: Client) -> None:
    hold(client, FIRST, SECOND)
    assert kept_back(client, ALL) == ["Jobs 2-3 are held. Still waiting. Type: duckrow release 2-3"]
    assert kept_back(client, [SECOND]) == ["Job 3 is held. Still waiting. Type: duckrow release 3"]
    assert kept_back(client, [RUNNING]) == []


def test_a_suspended_job_is_named_with_what_continues_it(client: Client) -> None:
    suspend(client, RUNNING, by_itself=True)
    assert kept_back(client, ALL) == ["Job 1 is suspended. Still waiting. Type: duckrow resume 1"]


def test_a_paused_queue_is_told_to_those_who_wait_for_a_job_in_it(client: Client) -> None:
    client.jobs.pause("")
    assert kept_back(client, [FIRST]) == ["The queue is paused. Still waiting. Type: duckrow resume"]
    assert kept_back(client, [RUNNING]) == []


def test_a_job_that_was_suspended_with_its_queue_continues_with_it(client: Client) -> None:
    client.jobs.pause("")
    suspend(client, RUNNING, by_itself=False)
    assert kept_back(client, [RUNNING]) == ["The queue is paused. Still waiting. Type: duckrow resume"]


def test_a_paused_project_is_told_to_those_who_wait_for_its_jobs_only(client: Client) -> None:
    client.jobs.pause("thesis")
    told = "The project thesis is paused. Still waiting. Type: duckrow resume --project thesis"
    assert kept_back(client, ALL) == [told]
    assert kept_back(client, [FIRST]) == []


def test_it_is_told_once_and_its_end_does_not_bring_the_scheduler_back(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.api.queue.attendance.unattended", lambda _session, _ids: [])
    told: list[str] = []
    attendance = Attendance(client, told.append)
    monkeypatch.setattr("duckrow.api.queue.attendance._LOOK_S", 0.0)
    monkeypatch.setattr("duckrow.api.queue.attendance._SHARE", 1e9)
    hold(client, FIRST)
    attendance.look([FIRST])
    attendance.look([FIRST])
    with client.database.transaction():
        client.database.execute("UPDATE jobs SET held = 0")
    attendance.look([FIRST])
    assert told == ["Job 2 is held. Still waiting. Type: duckrow release 2"]
