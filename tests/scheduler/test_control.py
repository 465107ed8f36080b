"""What people want of jobs: kill, pause, signals, rerun."""

from __future__ import annotations

from signal import SIGCONT, SIGSTOP, SIGUSR1

from duckrow.core.life.wishes import Wish, signal_wish
from tests.scheduler.language import Queue, fails, ignores_sigterm, runs, succeeds


def test_a_kill_asks_and_forces_after_the_grace(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), grace_s=10)
    queue.passes(5)
    queue.kill(job)
    queue.passes(9)
    assert queue.orders() == ["start 1", "stop 1 step 1"]
    assert queue.state(job) == "stopping"
    queue.passes(1)
    assert queue.orders() == ["stop 1 step 2"]
    assert queue.state(job) == "killed"


def test_a_kill_at_once_does_not_wait_for_the_grace(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), grace_s=10)
    queue.passes(5)
    queue.kill(job, at_once=True)
    queue.passes()
    assert queue.orders() == ["start 1", "stop 1 step 2"]
    assert queue.state(job) == "killed"


def test_a_second_kill_at_once_cuts_the_grace_short(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), grace_s=1000)
    queue.passes(5)
    queue.kill(job)
    queue.passes(1)
    queue.kill(job, at_once=True)
    queue.passes()
    assert queue.state(job) == "killed"


def test_a_job_that_is_killed_while_it_waits_never_starts(queue: Queue) -> None:
    queue.add(runs())
    job = queue.add(succeeds())
    queue.passes(1)
    queue.kill(job)
    queue.passes()
    assert queue.state(job) == "killed"
    assert queue.orders() == ["start 1"]


def test_a_killed_job_is_not_tried_again_whatever_its_retries(queue: Queue) -> None:
    job = queue.add(runs(), retries=5, backoff_s=1)
    queue.passes(1)
    queue.kill(job)
    queue.passes(100)
    assert queue.state(job) == "killed"
    assert len(queue.attempts(job)) == 1


def test_one_that_ends_well_while_it_is_killed_was_killed(queue: Queue) -> None:
    job = queue.add(runs(stops_after_s=1, stop_exit_code=0))
    queue.passes(1)
    queue.kill(job)
    queue.passes(2)
    assert queue.state(job) == "killed"


def test_what_waits_for_a_killed_job_is_skipped(queue: Queue) -> None:
    job = queue.add(runs())
    behind = queue.add(succeeds(), after=[job])
    queue.passes(1)
    queue.kill(job)
    queue.passes()
    assert queue.states(job, behind) == ["killed", "skipped"]


def test_a_paused_job_stands_still_and_keeps_its_device(queue: Queue) -> None:
    job, other = queue.add(succeeds(after_s=10)), queue.add(succeeds())
    queue.passes(5)
    queue.pause(job)
    queue.passes(1000)
    assert queue.states(job, other) == ["running", "queued"]
    assert queue.orders() == ["start 1", f"signal 1 {SIGSTOP.value}"]
    queue.resume(job)
    queue.passes(4.9)
    assert queue.state(job) == "running"
    queue.passes(0.1)
    assert queue.state(job) == "succeeded"
    assert queue.orders() == [f"signal 1 {SIGCONT.value}", "start 2"]


def test_a_paused_job_that_is_killed_goes_on_first_so_that_it_can_hear_it(queue: Queue) -> None:
    job = queue.add(runs(stops_after_s=0.0))
    queue.passes(1)
    queue.pause(job)
    queue.passes(1)
    queue.kill(job)
    queue.passes()
    assert queue.orders() == ["start 1", "signal 1 19", "signal 1 18", "stop 1 step 1"]
    assert queue.state(job) == "killed"


def test_a_pause_outlives_the_host(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=10))
    queue.passes(5)
    queue.pause(job)
    queue.passes(1)
    queue.dies()
    queue.begin()
    queue.passes(1000)
    assert queue.state(job) == "running"
    queue.resume(job)
    queue.passes(5)
    assert queue.state(job) == "succeeded"


def test_a_signal_is_sent_and_the_job_goes_on(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    queue.wish(job, signal_wish(SIGUSR1))
    queue.passes(1)
    assert queue.orders() == ["start 1", f"notice 1 {SIGUSR1.value}"]
    assert queue.state(job) == "running"


def test_a_job_that_is_done_runs_again_when_it_is_asked_to(queue: Queue) -> None:
    job = queue.add(fails(), succeeds())
    queue.passes(2)
    assert queue.state(job) == "failed"
    queue.wish(job, Wish.RERUN)
    queue.passes(2)
    assert queue.state(job) == "succeeded"
    assert [made.number for made in queue.attempts(job)] == [1, 2]


def test_a_job_that_lends_its_slot_lets_another_run_and_takes_it_back(queue: Queue) -> None:
    lender, borrower = queue.add(runs()), queue.add(succeeds(after_s=5))
    queue.passes(1)
    queue.wish(lender, Wish.LEND)
    queue.passes(1)
    assert queue.state(borrower) == "running"
    queue.wish(lender, Wish.TAKE_BACK)
    later = queue.add(succeeds())
    queue.passes(10)
    assert queue.states(borrower, later) == ["succeeded", "queued"]
