"""Jobs that fail, or cannot be started, and are tried again."""

from __future__ import annotations

from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, cannot_start, fails, slots, succeeds


def test_a_job_that_fails_is_tried_again_after_its_delay(queue: Queue) -> None:
    job = queue.add(fails(after_s=5), succeeds(after_s=5), retries=1, backoff_s=60)
    queue.passes(5)
    assert queue.state(job) == "queued"
    assert queue.booked() == {}
    queue.passes(59)
    assert queue.orders() == ["start 1"]
    queue.passes(1)
    assert queue.orders() == ["start 1"]
    queue.passes(5)
    assert queue.state(job) == "succeeded"
    assert [made.exit_code for made in queue.attempts(job)] == [1, 0]


def test_each_delay_is_twice_as_long_as_the_one_before(queue: Queue) -> None:
    queue.add(fails(after_s=1), retries=3, backoff_s=10)
    for delay_s in (10, 20, 40):
        queue.passes(1 + delay_s - 0.5)
        assert queue.orders() == ["start 1"]
        queue.passes(0.5)
    assert queue.orders() == ["start 1"]


def test_a_job_without_retries_left_has_failed(queue: Queue) -> None:
    job = queue.add(fails(code=3), retries=2, backoff_s=1)
    queue.passes(100)
    assert queue.state(job) == "failed"
    assert [made.exit_code for made in queue.attempts(job)] == [3, 3, 3]


def test_a_short_delay_does_not_wait_for_a_longer_one_that_began_before(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    patient = queue.add(fails(after_s=1), succeeds(), retries=1, backoff_s=100)
    hasty = queue.add(fails(after_s=2), succeeds(), retries=1, backoff_s=10)
    queue.passes(2 + 10 + 1)
    assert queue.states(patient, hasty) == ["queued", "succeeded"]
    queue.passes(1 + 100 + 1 - 13)
    assert queue.state(patient) == "succeeded"


def test_a_delay_goes_on_while_the_machine_sleeps(queue: Queue) -> None:
    job = queue.add(fails(), succeeds(), retries=1, backoff_s=3600)
    queue.passes(1)
    queue.clock.sleep(3600)
    queue.passes(1)
    assert queue.state(job) == "succeeded"


def test_a_delay_does_not_change_when_somebody_sets_the_clock(queue: Queue) -> None:
    job = queue.add(fails(), succeeds(), retries=1, backoff_s=60)
    queue.passes(1)
    queue.clock.set_wall(queue.clock.now().wall + 7200)
    queue.passes(59)
    assert queue.state(job) == "queued"
    queue.passes(2)
    assert queue.state(job) == "succeeded"


def test_a_device_is_given_to_others_during_a_delay(queue: Queue) -> None:
    failing = queue.add(fails(after_s=1), succeeds(after_s=1), retries=1, backoff_s=10)
    other = queue.add(succeeds(after_s=5))
    queue.passes(2)
    assert queue.states(failing, other) == ["queued", "running"]


def test_a_job_that_the_machine_cannot_start_now_is_tried_again_and_uses_up_no_retry(queue: Queue) -> None:
    job = queue.add(cannot_start("No space left on device", try_later=True), succeeds())
    queue.passes()
    assert queue.state(job) == "queued"
    assert queue.attempts(job) == []
    queue.passes(3)
    assert "not started: No space left on device" in queue.details(job)
    assert queue.told.sentences == ["Job 1 could not be started: No space left on device. It is retried."]


def test_a_job_that_can_never_be_started_has_failed(queue: Queue) -> None:
    job = queue.add(cannot_start("No such file or directory: /gone"))
    queue.passes()
    assert queue.state(job) == "failed"
    assert queue.details(job)[-1] == "could not be started: No such file or directory: /gone"
    assert queue.booked() == {}
