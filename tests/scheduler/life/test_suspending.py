"""Jobs that are paused while they run, by a person or by a signal, and jobs that are about to end."""

from __future__ import annotations

from signal import SIGCONT, SIGINT, SIGSTOP, SIGTERM, SIGTSTP

import pytest

from duckrow.core.life.wishes import Wish, signal_wish
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, ignores_sigterm, runs, slots, succeeds


def is_suspended(queue: Queue, job: int) -> bool:
    return job in queue.suspended()


@pytest.mark.parametrize("number", [SIGSTOP, SIGTSTP])
def test_a_signal_that_stops_a_job_pauses_it_and_its_time_limit(queue: Queue, number: int) -> None:
    job = queue.add(runs(), timeout_s=60, notice_signal=None)
    queue.passes(30)
    queue.wish(job, signal_wish(number))
    queue.passes(1000)
    assert is_suspended(queue, job)
    assert queue.state(job) == "running"
    queue.wish(job, signal_wish(SIGCONT))
    queue.passes(29)
    assert not is_suspended(queue, job)
    assert queue.state(job) == "running"
    queue.passes(1)
    assert queue.state(job) == "timed-out"


@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
def test_a_signal_that_is_for_everybody_goes_to_all_of_it(queue: Queue, number: int) -> None:
    job = queue.add(ignores_sigterm())
    queue.passes(1)
    queue.orders()
    queue.wish(job, signal_wish(number))
    queue.passes(1)
    assert queue.orders() == [f"signal {job} {number}"]


def test_a_job_that_is_being_stopped_is_not_paused(queue: Queue) -> None:
    job = queue.add(ignores_sigterm(), grace_s=10)
    queue.passes(1)
    queue.kill(job)
    queue.passes(1)
    queue.pause(job)
    queue.passes(1)
    assert not is_suspended(queue, job)
    queue.passes(8)
    assert queue.state(job) == "killed"


def test_a_pause_and_a_resume_of_a_job_that_was_not_paused_send_only_the_signal(queue: Queue) -> None:
    """Somebody else may have suspended it."""
    job = queue.add(runs())
    queue.passes(1)
    queue.orders()
    queue.resume(job)
    queue.passes(1)
    assert queue.orders() == [f"signal {job} {SIGCONT.value}"]


def test_a_job_that_dies_while_it_is_paused_is_paused_no_more(queue: Queue) -> None:
    job = queue.add(runs(), succeeds(after_s=5), requeue_lost=True)
    queue.passes(1)
    queue.pause(job)
    queue.passes(1)
    queue.dies()
    queue.machine.lose(queue.process(job).attempt_id, queue.clock.now().mono)
    queue.begin()
    queue.passes(1)
    assert not is_suspended(queue, job)
    queue.passes(5)
    assert queue.state(job) == "succeeded"


def test_a_pause_that_comes_when_the_job_has_failed_holds_its_next_attempt(queue: Queue) -> None:
    job = queue.add(fails(after_s=1), succeeds(), retries=1, backoff_s=10)
    queue.passes(2)
    assert queue.state(job) == "queued"
    queue.pause(job)
    queue.passes(60)
    assert queue.state(job) == "queued"
    queue.release(job)
    queue.passes(5)
    assert queue.state(job) == "succeeded"


def test_the_daemon_leaves_the_jobs_of_a_living_run_to_that_run(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    run = queue.begin_run(slots(1))
    running, waiting = queue.add(runs(), host_id=run), queue.add(succeeds(), host_id=run)
    queue.passes(1)
    queue.stalls(run)
    queue.kill(waiting)
    queue.passes(1)
    assert queue.state(waiting) == "queued"
    queue.goes_on(run)
    queue.passes(1)
    assert queue.states(running, waiting) == ["running", "killed"]


def test_the_daemon_kills_what_waits_for_a_run_that_is_over_and_runs_it_again_itself(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    run = queue.begin_run(slots(1))
    blocker, waiting = queue.add(runs(), host_id=run), queue.add(succeeds(), host_id=run)
    queue.passes(1)
    queue.dies(run)
    queue.kill(waiting)
    queue.kill(blocker, at_once=True)
    queue.passes(1)
    assert queue.states(blocker, waiting) == ["killed", "killed"]
    queue.wish(waiting, Wish.RERUN)
    queue.passes(5)
    assert queue.state(waiting) == "succeeded"


def test_a_job_on_a_gpu_has_no_slot_to_lend(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    job = queue.add(runs(), gpus=1)
    queue.passes(5)
    before = queue.booked()
    queue.wish(job, Wish.LEND)
    queue.passes(1)
    assert queue.booked() == before


def test_a_rerun_of_a_job_that_waits_changes_nothing(queue: Queue) -> None:
    queue.add(runs())
    job = queue.add(succeeds())
    queue.passes(1)
    queue.wish(job, Wish.RERUN)
    queue.passes(1)
    assert queue.state(job) == "queued"
    assert queue.attempts(job) == []
