"""How attempts end, and what that makes of their jobs."""

from __future__ import annotations

import math
from signal import SIGKILL, SIGSEGV

import pytest

from duckrow.core.ports import Ended, Gone
from duckrow.engines.dry.behaviour import Behaviour
from tests.scheduler.language import Queue, cannot_start, dies_of, fails, runs, succeeds


@pytest.mark.parametrize(
    ("does", "outcome"),
    [
        (succeeds(), "succeeded"),
        (fails(code=3), "failed"),
        (dies_of(SIGSEGV), "failed"),
        (dies_of(SIGKILL), "killed"),
    ],
)
def test_the_end_of_an_attempt_is_that_of_its_job(queue: Queue, does: Behaviour, outcome: str) -> None:
    job = queue.add(does)
    queue.passes(1)
    assert queue.state(job) == outcome
    (attempt,) = queue.attempts(job)
    assert (attempt.exit_code, attempt.signal) == (None if does.signal else does.exit_code, does.signal)
    assert queue.booked() == {}


def test_a_job_that_runs_is_running_until_its_end(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=100))
    queue.passes()
    assert queue.state(job) == "running"
    queue.passes(99.9)
    assert queue.state(job) == "running"
    queue.passes(0.1)
    assert queue.state(job) == "succeeded"


def test_when_it_began_and_ended_is_known_to_the_moment(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=100))
    began = queue.clock.now().wall
    queue.passes(500)
    (attempt,) = queue.attempts(job)
    assert attempt.started_at == pytest.approx(began)
    assert attempt.ended_at == pytest.approx(began + 100)


def test_the_next_job_starts_the_moment_that_the_device_is_free(queue: Queue) -> None:
    first, second = queue.add(succeeds(after_s=10)), queue.add(succeeds(after_s=10))
    queue.passes(9)
    assert queue.states(first, second) == ["running", "queued"]
    queue.passes(1)
    assert queue.states(first, second) == ["succeeded", "running"]


def test_a_device_is_not_free_while_something_of_the_attempt_is_left(queue: Queue) -> None:
    first = queue.add(succeeds(after_s=1, leaves_s=1000, stops_after_s=None), grace_s=5)
    second = queue.add(succeeds())
    queue.passes(2)
    assert queue.states(first, second) == ["stopping", "queued"]
    assert queue.orders() == ["start 1", "stop 1 step 1"]
    queue.passes(4)
    assert queue.orders() == ["stop 1 step 2", "start 2"]
    assert queue.state(first) == "succeeded"


def test_an_end_that_nobody_saw_is_lost_and_never_succeeded(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    queue.dies()
    queue.machine.lose(queue.process(job).attempt_id, queue.clock.now().mono)
    queue.begin()
    queue.passes()
    assert queue.state(job) == "lost"
    assert queue.booked() == {}


def test_a_lost_job_goes_back_to_the_queue_if_it_asks_for_that(queue: Queue) -> None:
    job = queue.add(runs(), succeeds(), requeue_lost=True)
    queue.passes(1)
    queue.dies()
    queue.machine.lose(queue.process(job).attempt_id, queue.clock.now().mono)
    queue.begin()
    queue.passes(1)
    assert queue.state(job) == "succeeded"
    assert [str(made.outcome) for made in queue.attempts(job)] == ["lost", "succeeded"]


def test_a_job_can_ask_to_be_queued_again_and_waits_if_it_was_hasty(queue: Queue) -> None:
    job = queue.add(fails(after_s=1, code=75), succeeds())
    queue.passes(1)
    assert queue.state(job) == "queued"
    queue.passes(4.9)
    assert queue.orders() == ["start 1"]
    queue.passes(1.1)
    assert queue.state(job) == "succeeded"


def test_a_job_that_is_killed_and_leaves_something_behind_keeps_its_grace(queue: Queue) -> None:
    """What it leaves is asked to end, in the usual steps: there is no second grace time."""
    job = queue.add(succeeds(after_s=8, stops_after_s=None, leaves_s=math.inf), grace_s=10)
    queue.passes(1)
    queue.kill(job)
    queue.passes(9)
    assert queue.state(job) == "stopping", "its own process has ended, and another has not"
    queue.passes(1)
    assert queue.state(job) == "killed"
    assert queue.orders() == ["start 1", "stop 1 step 1", "stop 1 step 1", "stop 1 step 2"]
    assert queue.booked() == {}


def test_a_report_about_an_attempt_that_nobody_knows_changes_nothing(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    queue.host().loop.state.note([Gone(99_000_001), Ended(99_000_001, 0, None, 1.0, (), silent=False)])
    queue.passes(1)
    assert (queue.state(job), queue.told.sentences) == ("running", [])
    assert queue.host().loop.state.pending() == set()


def test_a_job_that_is_killed_before_its_process_exists_is_killed_and_not_tried_again(queue: Queue) -> None:
    job = queue.add(cannot_start("the disk is full", try_later=True, starts_after_s=5.0))
    queue.passes(1)
    queue.kill(job)
    queue.passes(10)
    assert (queue.state(job), len(queue.attempts(job))) == ("killed", 1)
    assert "killed before it started" in queue.details(job)
    assert queue.booked() == {}
