"""Who starts, and who waits: priorities, dependencies, holds, limits, drains, delays."""

from __future__ import annotations

import pytest

from duckrow.core.life.wishes import DeviceWish
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, runs, slots, succeeds


def test_the_one_with_the_higher_priority_is_next_and_among_equals_the_older(queue: Queue) -> None:
    queue.add(succeeds(after_s=1))
    queue.passes()
    queue.add(succeeds(after_s=1), priority=30)
    queue.add(succeeds(after_s=1), priority=30)
    queue.add(succeeds(after_s=1), priority=90)
    queue.passes(10)
    assert queue.orders() == ["start 1", "start 4", "start 2", "start 3"]


def test_a_job_waits_for_the_one_before_it(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    first = queue.add(succeeds(after_s=10))
    second = queue.add(succeeds(), after=[first])
    queue.passes(9)
    assert queue.states(first, second) == ["running", "queued"]
    queue.passes(2)
    assert queue.state(second) == "succeeded"


def test_a_job_is_skipped_when_the_one_before_it_fails_and_so_are_those_behind_it(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    first = queue.add(fails())
    second = queue.add(succeeds(), after=[first])
    third = queue.add(succeeds(), after=[second])
    queue.passes(5)
    assert queue.states(first, second, third) == ["failed", "skipped", "skipped"]
    assert queue.orders() == ["start 1"]


def test_a_job_that_waits_for_a_retry_keeps_those_behind_it_waiting(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    first = queue.add(fails(), succeeds(), retries=1, backoff_s=60)
    second = queue.add(succeeds(), after=[first])
    queue.passes(30)
    assert queue.states(first, second) == ["queued", "queued"]
    queue.passes(40)
    assert queue.states(first, second) == ["succeeded", "succeeded"]


@pytest.mark.parametrize(("condition", "outcome"), [("any", "succeeded"), ("failed", "skipped")])
def test_what_must_have_become_of_the_one_before_can_be_said(queue: Queue, condition: str, outcome: str) -> None:
    first = queue.add(succeeds())
    second = queue.add(succeeds(), after=[first], condition=condition)
    queue.passes(5)
    assert queue.state(second) == outcome


def test_a_job_that_is_held_waits_until_it_is_released(queue: Queue) -> None:
    job = queue.add(succeeds(), held=True)
    queue.passes(3600)
    assert queue.state(job) == "queued"
    queue.release(job)
    queue.passes(1)
    assert queue.state(job) == "succeeded"


def test_a_job_begins_when_its_time_of_day_has_come(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=1), not_before=queue.clock.now().wall + 3600)
    queue.passes(3599)
    assert queue.orders() == []
    queue.passes(1)
    assert queue.orders() == [f"start {job}"]


def test_a_time_of_day_comes_sooner_when_somebody_sets_the_clock(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=1), not_before=queue.clock.now().wall + 3600)
    queue.passes(1)
    queue.clock.set_wall(queue.clock.now().wall + 3600)
    queue.passes()
    assert queue.orders() == [f"start {job}"]


def test_a_delay_counts_from_when_the_job_was_added(queue: Queue) -> None:
    queue.passes(1000)
    job = queue.add(succeeds(after_s=1), delay_s=60)
    queue.passes(59)
    assert queue.orders() == []
    queue.passes(1)
    assert queue.orders() == [f"start {job}"]


def test_no_more_jobs_of_a_project_run_than_its_limit_allows(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(4))
    queue.limit("project:thesis", 2)
    limited = [queue.add(succeeds(after_s=10), project="thesis") for _ in range(3)]
    other = queue.add(runs())
    queue.passes()
    assert queue.states(*limited, other) == ["running", "running", "queued", "running"]
    queue.passes(10)
    assert queue.states(*limited) == ["succeeded", "succeeded", "running"]


def test_a_limit_that_is_lifted_lets_the_others_start(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(4))
    queue.limit("project:thesis", 1)
    limited = [queue.add(runs(), project="thesis") for _ in range(3)]
    queue.passes(5)
    queue.limit("project:thesis", None)
    queue.passes()
    assert queue.states(*limited) == ["running"] * 3


def test_a_drained_gpu_gets_no_new_job_and_its_job_goes_on(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    first, second = queue.add(succeeds(after_s=10), gpus=1), queue.add(succeeds(after_s=100), gpus=1)
    queue.passes(1)
    assert queue.states(first, second) == ["running", "running"]
    queue.drain("0")
    third = queue.add(succeeds(after_s=10), gpus=1)
    queue.passes(50)
    assert queue.states(first, third) == ["succeeded", "queued"]
    queue.drain("0", None)
    queue.passes(1)
    assert queue.state(third) == "running"


def test_a_gpu_that_is_to_go_goes_with_its_last_job(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    job = queue.add(succeeds(after_s=10), gpus=1)
    queue.passes(1)
    device = next(iter(queue.booked()))
    queue.drain(device, DeviceWish.REMOVE)
    queue.passes(1)
    assert len(queue.host().loop.state.seats) == 2
    queue.passes(10)
    assert queue.state(job) == "succeeded"
    assert [seat.devices for seat in queue.host().loop.state.seats] == [tuple({"0", "1"} - {device})]


def test_only_a_job_that_ends_in_time_goes_past_one_that_waits_for_two_gpus(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    running = queue.add(runs(), gpus=1, timeout_s=100, grace_s=10)
    queue.passes(5)
    both = queue.add(succeeds(), gpus=2)
    long, short = (queue.add(runs(), gpus=1, timeout_s=limit_s, grace_s=10) for limit_s in (500, 20))
    queue.passes(5)
    assert queue.states(running, both, long, short) == ["running", "queued", "queued", "running"]


def test_when_a_job_began_is_restated_when_somebody_sets_the_clock(queue: Queue) -> None:
    began = queue.clock.now().wall
    job = queue.add(runs())
    queue.passes(10)
    queue.clock.set_wall(queue.clock.now().wall + 7200)
    queue.passes(1)
    assert abs((queue.attempts(job)[0].started_at or 0.0) - (began + 7200)) < 1


@pytest.mark.no_cover  # hundreds of ticks
def test_a_short_job_goes_past_one_that_waits_once_its_run_times_are_known(make_queue: MakeQueue) -> None:
    """Without any time limit: four runs of each have told."""
    queue = make_queue(*gpus("24G", "24G"))
    for number in range(4):
        queue.add(succeeds(after_s=100), command=f"./train.sh --seed {number}", gpus=1)
        queue.add(succeeds(after_s=10), command=f"./score.sh --seed {number}", gpus=1)
    queue.passes(1000)
    running = queue.add(succeeds(after_s=100), command="./train.sh --seed 7", gpus=1)
    queue.passes(1)
    big = queue.add(succeeds(after_s=5), command="./big.sh", gpus=2, priority=90)
    short = queue.add(succeeds(after_s=10), command="./score.sh --seed 7", gpus=1)
    long = queue.add(succeeds(after_s=100), command="./train.sh --seed 8", gpus=1)
    queue.passes(1)
    assert [queue.state(each) for each in (running, big, short, long)] == ["running", "queued", "running", "queued"]
    queue.passes(99)
    assert [queue.state(each) for each in (running, big, short)] == ["succeeded", "running", "succeeded"]
