"""Time limits, the notice ahead of them, and the steps of a kill."""

from __future__ import annotations

from signal import SIGCONT, SIGSTOP, SIGUSR2

from tests.scheduler.language import Queue, ignores_sigterm, runs, succeeds


def test_a_job_over_its_limit_is_asked_and_then_forced_to_end(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), timeout_s=60, grace_s=10, notice_signal=None)
    queue.passes(59.9)
    assert queue.orders() == ["start 1"]
    queue.passes(0.1)
    assert queue.orders() == ["stop 1 step 1"]
    assert queue.state(job) == "stopping"
    queue.passes(9.9)
    assert queue.orders() == []
    queue.passes(0.1)
    assert queue.orders() == ["stop 1 step 2"]
    assert queue.state(job) == "timed-out"
    assert "over its time limit of 60 s" in queue.details(job)
    assert queue.booked() == {}


def test_a_job_that_ends_within_its_limit_hears_nothing_of_it(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=59.9), timeout_s=60, notice_s=0)
    queue.passes(1000)
    assert queue.state(job) == "succeeded"
    assert queue.orders() == ["start 1"]


def test_one_that_ends_well_in_its_grace_has_succeeded(queue: Queue) -> None:
    job = queue.add(runs(stops_after_s=5, stop_exit_code=0), timeout_s=60, grace_s=10)
    queue.passes(65)
    assert queue.state(job) == "succeeded"


def test_one_that_fails_in_its_grace_has_timed_out(queue: Queue) -> None:
    job = queue.add(runs(stops_after_s=5, stop_exit_code=1), timeout_s=60, grace_s=10)
    queue.passes(65)
    assert queue.state(job) == "timed-out"


def test_a_notice_comes_once_and_so_many_seconds_before_the_limit(queue: Queue) -> None:
    queue.add(runs(), timeout_s=100, notice_s=30)
    queue.passes(69.9)
    assert queue.orders() == ["start 1"]
    queue.passes(0.1)
    assert queue.orders() == [f"notice 1 {SIGUSR2}"]
    queue.passes(29)
    assert queue.orders() == []


def test_a_limit_shorter_than_the_notice_is_announced_half_way(queue: Queue) -> None:
    queue.add(runs(), timeout_s=20, notice_s=30)
    queue.passes(9.9)
    assert queue.orders() == ["start 1"]
    queue.passes(0.1)
    assert queue.orders() == [f"notice 1 {SIGUSR2}"]


def test_the_limit_stands_still_while_the_machine_sleeps(queue: Queue) -> None:
    job = queue.add(runs(), timeout_s=60)
    queue.passes(30)
    queue.clock.sleep(3600)
    queue.passes(29)
    assert queue.state(job) == "running"
    queue.passes(1)
    assert queue.state(job) == "timed-out"


def test_the_limit_is_not_touched_when_somebody_sets_the_clock(queue: Queue) -> None:
    job = queue.add(runs(), timeout_s=60)
    queue.passes(30)
    queue.clock.set_wall(queue.clock.now().wall + 7200)
    queue.passes(29)
    assert queue.state(job) == "running"
    queue.passes(1)
    assert queue.state(job) == "timed-out"


def test_the_limit_stands_still_while_the_job_is_suspended(queue: Queue) -> None:
    job = queue.add(runs(), timeout_s=60, notice_signal=None)
    queue.passes(30)
    queue.pause(job)
    queue.passes(1000)
    queue.resume(job)
    queue.passes(29)
    assert queue.state(job) == "running"
    assert queue.orders() == ["start 1", f"signal 1 {SIGSTOP.value}", f"signal 1 {SIGCONT.value}"]
    queue.passes(1)
    assert queue.state(job) == "timed-out"


def test_the_next_host_goes_on_counting(queue: Queue) -> None:
    job = queue.add(runs(), timeout_s=60)
    queue.passes(30)
    queue.dies()
    queue.begin()
    queue.passes(29)
    assert queue.state(job) == "running"
    queue.passes(1)
    assert queue.state(job) == "timed-out"
