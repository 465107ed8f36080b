"""How long jobs will take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.hold import hold
from duckrow.api.jobs.order import move_first
from duckrow.api.queue.eta import ExpectedTimes, SharedEtas
from duckrow.api.queue.listing import listing
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.schedule.run_times import RunTimes
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock


class Queued(NamedTuple):
    command: str
    name: str = "train"
    sweep: str | None = None
    project: str = "p"
    cwd: str = "/"
    needs: str | None = None


def test_of_jobs_far_behind_in_a_queue_those_before_them_tell() -> None:
    times = RunTimes()
    for size in range(1, 9):
        times.note(Queued(f"./train --size {size}"), 10.0 * size)
    expected = ExpectedTimes(times)
    assert expected.seconds(Queued("./train --size 4")) == 40.0
    assert expected.seconds(Queued("./train --size 5")) == 50.0
    for _ in range(500):
        expected.seconds(Queued("./other", name="other"))
    assert expected.seconds(Queued("./train --size 8")) == 45.0
    assert expected.seconds(Queued("./third", name="third")) is None


class Listed:
    """A daemon with one slot, of which only its lock and its rows are there; each job takes 10 s."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.times_learned = 0
        (done,) = self.add(1)
        with client.database.transaction():
            client.database.execute("UPDATE jobs SET state = 'done', outcome = 'succeeded', attempts = 1")
            client.database.execute(
                "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, ended_at, outcome) "
                "VALUES (?, 1, 1, 'k', '[]', '', 0, 10, 'succeeded')",
                (done,),
            )
        client.database._connection.set_trace_callback(self._note)

    def _note(self, statement: str) -> None:
        self.times_learned += "duration_s" in statement

    def add(self, count: int) -> list[int]:
        with self.client.database.transaction():
            return list(self.client.jobs.add(DAEMON, [JobSpec("train", "/")] * count, {}))

    def etas(self, *ids: int) -> list[float | None]:
        etas = [view.eta_s for view in listing(self.client, Filter(ids=ids), sort="id")]
        return [None if eta_s is None else float(round(eta_s)) for eta_s in etas]


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[Listed]:
    folder = Folder(tmp_path / "state").make()
    with Client(folder) as client:
        client.hosts.open(DAEMON, cpu_seats(1), Machine())
        lock = try_lock(folder, DAEMON)
        assert lock is not None
        yield Listed(client)
        unlock(folder, DAEMON, lock)


def test_estimates_are_shared_as_long_as_they_are_good(listed: Listed) -> None:
    first, *_, last = listed.add(50)
    listed.client.etas = SharedEtas(good_for_s=3600)
    assert [listed.etas(first), listed.etas(last), listed.etas(first, last)] == [[10.0], [500.0], [10.0, 500.0]]
    assert listed.times_learned == 1
    listed.client.etas = None
    assert [listed.etas(first), listed.etas(last)] == [[10.0], [500.0]]
    assert listed.times_learned == 3


def test_after_a_change_nothing_of_the_old_estimates_is_left(listed: Listed) -> None:
    first, second = listed.add(2)
    listed.client.etas = shared = SharedEtas(good_for_s=3600)
    assert listed.etas(first, second) == [10.0, 20.0]
    move_first(listed.client, [second])
    shared.forget()
    assert listed.etas(first, second) == [20.0, 10.0]


def test_a_job_that_was_just_held_has_no_eta(listed: Listed) -> None:
    (job_id,) = listed.add(1)
    listed.client.etas = SharedEtas(good_for_s=3600)
    assert listed.etas(job_id) == [10.0]
    hold(listed.client, [job_id])
    assert listed.etas(job_id) == [None]
