"""How long jobs will take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.hold import hold
from duckrow.api.jobs.order import move_first
from duckrow.api.queue.eta import ExpectedTimes, SharedEtas, run_left_s
from duckrow.api.queue.listing import listing
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec, QueuedJob
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.schedule.run_times import RunTimes
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, try_lock, unlock
from tests.core.language import attempt, job


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


class PretendRun(NamedTuple):
    """Two seats; whatever is not said does not matter."""

    added: int
    running: Sequence[LiveAttempt] = ()
    waiting: Sequence[QueuedJob] = ()
    run_times: RunTimes | None = None
    seat_count: int = 2
    host_id: int = 1
    reading: bool = False
    waits_for: Sequence[str] = ()
    starts_more: bool = True
    interrupts: int = 0
    hung_up: bool = False


def steps(number: int, of: int = 1) -> QueuedJob:
    return job(of, id=number, command=f"python train.py --steps {number}")


def known() -> RunTimes:
    times = RunTimes()
    for number in range(1, 9):
        times.note(steps(number), 10.0 * number)
    return times


def test_a_run_ends_when_the_last_of_its_jobs_does_by_what_similar_ones_took() -> None:
    running = [attempt(steps(5), started_at=1000.0), attempt(steps(2), started_at=1000.0)]
    run = PretendRun(6, running, [steps(8), steps(1)], known())
    assert run_left_s(run, done=2, usual_s=3.0, now=1010.0) == 10 + 80  # job 8 follows job 2, job 1 job 5


def test_a_run_of_which_nothing_is_known_goes_on_at_its_pace() -> None:
    running = [attempt(steps(1), started_at=1000.0), attempt(steps(2), started_at=1000.0)]
    assert run_left_s(PretendRun(6, running), done=2, usual_s=30.0, now=1010.0) == 20 + 2 * 30 / 2


def test_before_the_first_job_has_ended_only_similar_runs_tell() -> None:
    running = [attempt(steps(2), started_at=1000.0)]
    assert run_left_s(PretendRun(2, running, [steps(4)], known()), 0, math.inf, now=1005.0) == 40
    unknown = job(1, id=9, command="./other", name="other")
    assert run_left_s(PretendRun(2, running, [unknown], known()), 0, math.inf, now=1005.0) == math.inf
    assert run_left_s(PretendRun(1, running), 0, math.inf, now=1005.0) == math.inf


def test_of_a_long_run_the_first_that_wait_tell_about_the_others() -> None:
    run = PretendRun(1004, waiting=[steps(3), steps(5)], run_times=known())
    assert run_left_s(run, done=2, usual_s=3.0, now=0.0) == 50 + 1000 * 40 / 2


def test_a_run_that_starts_nothing_more_ends_with_what_runs() -> None:
    running = [attempt(steps(5), started_at=1000.0)]
    run = PretendRun(1004, running, [steps(8), steps(1)], known(), starts_more=False)
    assert run_left_s(run, done=2, usual_s=3.0, now=1010.0) == 40


def test_a_job_on_both_gpus_counts_on_both() -> None:
    run = PretendRun(
        2, [attempt(steps(2, of=2), started_at=0.0, holds=(("0", 1), ("1", 1)))], [steps(4, of=2)], known()
    )
    assert run_left_s(run, done=0, usual_s=3.0, now=0.0) == 20 + 40


def test_jobs_that_share_a_gpu_run_side_by_side() -> None:
    running = [attempt(steps(2), started_at=0.0) for _ in range(4)]
    run = PretendRun(5, running, [steps(4)], known(), seat_count=1)
    assert run_left_s(run, done=0, usual_s=3.0, now=0.0) == 20 + 40
