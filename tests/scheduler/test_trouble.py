"""A host whose tick cannot be written goes on, and does what it had decided."""

from __future__ import annotations

import pytest

from duckrow.core.clock import Now
from duckrow.core.errors import StateError
from duckrow.core.schedule.decide import Decision
from duckrow.scheduler.tick.record import Recorded
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, ignores_sigterm, runs, slots, succeeds


def fail_once_when_stopping(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full at the end of the first tick that would stop something."""
    loop = queue.host().loop
    record, left = loop._record, [1]

    def full(decision: Decision, now: Now) -> Recorded:
        recorded = record(decision, now)
        if decision.stops and left:
            left.clear()
            raise StateError("The disk is full.")
        return recorded

    monkeypatch.setattr(loop, "_record", full)


def test_a_step_of_the_kill_ladder_that_was_not_written_is_taken_all_the_same(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = queue.add(ignores_sigterm(), timeout_s=10, grace_s=5)
    queue.passes(12)
    assert "stop 1 step 1" in queue.orders()
    fail_once_when_stopping(queue, monkeypatch)
    queue.passes(3)
    assert queue.orders() == []
    assert queue.told.sentences == ["The disk is full."]
    queue.passes(3)
    assert queue.orders() == ["stop 1 step 2"]
    assert queue.state(job) == "timed-out"


def test_a_stop_that_was_not_written_begins_again(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    job = queue.add(runs(), timeout_s=10, grace_s=5)
    queue.passes()
    fail_once_when_stopping(queue, monkeypatch)
    queue.passes(10)
    assert queue.state(job) == "running"
    queue.passes(3)
    assert queue.state(job) == "timed-out"


def test_ctrl_c_is_not_forgotten_when_it_could_not_be_written(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    job = queue.add(runs())
    queue.passes()
    fail_once_when_stopping(queue, monkeypatch)
    queue.host().loop.state.end_all()
    queue.passes()
    assert queue.state(job) == "running"
    queue.passes(3)
    assert queue.state(job) == "killed"


def test_a_wish_that_makes_no_sense_is_set_aside_with_a_sentence(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=5))
    queue.passes()
    with queue.database.transaction():
        queue.database.execute("INSERT INTO wishes (job_id, wish, at) VALUES (1, 'signal:x', 0)")
    queue.kill(queue.add())
    queue.passes(5)
    assert queue.states(job, 2) == ["succeeded", "killed"]
    (sentence,) = queue.told.sentences
    assert sentence.startswith("The wish 'signal:x' for job 1 is set aside: ")
    assert queue.database.one("SELECT count(*) FROM wishes") == 0


def test_a_job_that_is_not_where_it_should_be_keeps_nobody_else_waiting(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    odd, other = queue.add(succeeds(after_s=5)), queue.add(succeeds(after_s=5))
    queue.passes()
    with queue.database.transaction():
        queue.database.execute("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id = ?", (odd,))
    later = queue.add(succeeds(after_s=5))
    queue.passes(20)
    assert queue.states(other, later) == ["succeeded", "succeeded"]
    (sentence,) = queue.told.sentences
    assert sentence.startswith(f"Job {odd} is set aside: ")


def test_a_start_of_a_job_that_is_not_waiting_keeps_nobody_else_waiting(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = queue.add(succeeds(after_s=5))
    queue.passes()
    odd, other = queue.add(), queue.add()
    queue.passes()
    store = queue.host().loop.store
    eligible = store.queue.eligible
    stuck = [job for job in eligible(10) if job.id == odd]
    with queue.database.transaction():
        queue.database.execute("UPDATE jobs SET held = 1 WHERE id = ?", (odd,))
        queue.database.execute("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id = ?", (odd,))
    monkeypatch.setattr(
        store.queue, "eligible", lambda *more: [*stuck, *(job for job in eligible(*more) if job.id != odd)]
    )
    queue.passes(20)
    assert queue.states(first, other) == ["succeeded", "succeeded"]
    assert [told[:18] for told in queue.told.sentences] == [f"Job {odd} is set aside"]
