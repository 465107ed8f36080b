"""After the death of a host: what it had started is found again, by its next life or by another host."""

from __future__ import annotations

import os

import pytest

from duckrow.scheduler.life import recovery
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, ignores_sigterm, runs, slots, succeeds


def test_a_job_that_outlives_the_daemon_is_adopted(queue: Queue) -> None:
    job, other = queue.add(succeeds(after_s=100)), queue.add(succeeds())
    queue.passes(10)
    queue.dies()
    queue.begin()
    queue.passes(10)
    assert queue.states(job, other) == ["running", "queued"]
    assert queue.orders() == ["start 1", "adopt 1"]
    queue.passes(80)
    assert queue.states(job, other) == ["succeeded", "running"]


def test_an_end_that_came_while_nobody_was_there_is_known(queue: Queue) -> None:
    job = queue.add(fails(after_s=10, code=42))
    queue.passes(1)
    began = queue.clock.now().wall
    queue.dies()
    queue.clock.go_on(500)
    queue.begin()
    queue.passes()
    assert queue.state(job) == "failed"
    (attempt,) = queue.attempts(job)
    assert attempt.exit_code == 42
    assert attempt.ended_at is not None
    assert attempt.ended_at < began + 60


def test_a_job_that_was_being_stopped_is_asked_again_and_then_forced_by_the_next_host(queue: Queue) -> None:
    """The host may have died before it sent the signal."""
    job = queue.add(ignores_sigterm(), grace_s=10)
    queue.passes(1)
    queue.kill(job)
    queue.passes(5)
    assert queue.orders() == ["start 1", "stop 1 step 1"]
    queue.dies()
    queue.begin()
    queue.passes()
    assert queue.orders() == ["adopt 1", "stop 1 step 1"]
    queue.passes(4.9)
    assert queue.orders() == []
    queue.passes(0.1)  # 10 s after it was asked for the first time: there is one grace, not one for each host
    assert queue.orders() == ["stop 1 step 2"]
    assert queue.state(job) == "killed"


def test_a_job_whose_grace_ended_while_nobody_was_there_gets_no_other_one(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), grace_s=10)
    queue.passes(1)
    queue.kill(job)
    queue.passes()
    queue.dies()
    queue.clock.go_on(60)
    queue.begin()
    queue.passes()
    assert queue.orders() == ["start 1", "stop 1 step 1", "adopt 1", "stop 1 step 1", "stop 1 step 2"]
    assert queue.state(job) == "killed"


def test_a_living_host_takes_over_the_jobs_of_one_that_died(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    run = queue.begin_run(slots(1))
    job = queue.add(succeeds(after_s=100), host_id=run)
    waiting = queue.add(succeeds(), host_id=run)
    queue.passes(10)
    assert queue.states(job, waiting) == ["running", "queued"]
    queue.dies(run)
    queue.host().loop.state.wake()
    queue.passes(90)
    assert queue.state(job) == "succeeded"
    assert queue.state(waiting) == "queued"  # that is for whoever resumes the run


def test_the_kernel_tells_of_the_death_of_a_host(make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    ends, its_life = os.pipe()  # can be read from when the other end is closed, as a pidfd can
    watched: list[str] = []

    def open_pidfd_of(process: str) -> int:
        watched.append(process)
        return ends

    monkeypatch.setattr(recovery, "open_pidfd_of", open_pidfd_of)
    queue = make_queue(slots(1))
    run = queue.begin_run(slots(1))
    job = queue.add(runs(), host_id=run)
    queue.passes(1)
    queue.host().loop.state.wake()
    queue.passes(10)
    assert len(watched) == 1  # however often it is seen to live
    queue.orders()
    queue.dies(run)
    os.close(its_life)
    queue.passes()
    assert queue.orders() == [f"adopt {job}"]


def test_a_host_of_which_the_kernel_tells_nothing_is_looked_at_every_five_seconds(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "open_pidfd_of", lambda _: None)
    queue = make_queue(slots(1))
    run = queue.begin_run(slots(1))
    job = queue.add(runs(), host_id=run)
    queue.passes(1)
    queue.host().loop.state.wake()
    queue.passes(12)
    queue.orders()
    queue.dies(run)
    queue.passes(5)
    assert queue.orders() == [f"adopt {job}"]


def test_two_hosts_never_give_out_the_same_gpu(make_queue: MakeQueue) -> None:
    seats, memory_mb = gpus("24G")
    queue = make_queue(seats, memory_mb)
    run = queue.begin_run(seats)
    first = queue.add(succeeds(after_s=10), gpus=1)
    second = queue.add(succeeds(after_s=10), gpus=1, host_id=run)
    queue.passes(5)
    assert sorted(queue.states(first, second)) == ["queued", "running"]
    queue.passes(20)
    assert queue.states(first, second) == ["succeeded", "succeeded"]


def test_a_host_that_ends_in_good_order_leaves_its_jobs_running(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    queue.ends()
    queue.begin()
    queue.passes(1)
    assert queue.state(job) == "running"
    assert queue.orders() == ["start 1", "adopt 1"]


def test_an_exit_code_that_was_seen_counts_also_if_the_host_died_while_leftovers_were_stopped(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=10, leaves_s=60, stops_after_s=None), grace_s=30)
    queue.passes(11)
    assert queue.state(job) == "stopping"
    queue.dies()
    queue.machine.lose(queue.process(job).attempt_id, queue.clock.now().mono)
    queue.begin()
    queue.passes(60)
    assert queue.state(job) == "succeeded"
    (attempt,) = queue.attempts(job)
    assert attempt.exit_code == 0
