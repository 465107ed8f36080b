"""Jobs of a batch whose run times are known start in the order that ends soonest."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.devices.machine import BARE
from duckrow.core.devices.needs import Needs
from duckrow.core.memory.parameters import text_of
from duckrow.core.schedule.decide import plain_ask
from duckrow.core.schedule.run_times import RunTimes
from duckrow.scheduler.life.batch_plans import BatchPlans
from duckrow.scheduler.state.host_state import HostState
from tests.core.language import cpus, job
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, slots, succeeds

LENGTHS = [100, 80, 120, 90, 110, 95, 105, 85, 115, 100, 90, 1000]


def submit(queue: Queue, lengths: list[int], **fields: Any) -> list[int]:
    return [
        queue.add(succeeds(after_s=seconds), command=f"python train.py --steps {seconds}", **fields)
        for seconds in lengths
    ]


def all_end(queue: Queue, jobs: list[int]) -> float:
    """How long it takes until all have ended."""
    began = queue.clock.now().mono
    while any(queue.state(job) != "succeeded" for job in jobs):
        queue.passes(5)
    return queue.clock.now().mono - began


def starts(queue: Queue) -> list[int]:
    return [int(order.removeprefix("start ")) for order in queue.orders() if order.startswith("start")]


def test_a_batch_that_has_run_before_ends_sooner_the_next_time(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(3))
    first = all_end(queue, submit(queue, LENGTHS))
    again = all_end(queue, submit(queue, LENGTHS))
    assert again < 0.9 * first


def test_who_comes_with_another_priority_or_much_later_is_not_overtaken(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    all_end(queue, submit(queue, LENGTHS))
    queue.orders()
    jobs = submit(queue, [10, 1000, 10], priority=90) + submit(queue, [10, 10, 1000], priority=50)
    queue.passes(700)
    jobs += submit(queue, [1000, 10, 10], priority=50)
    all_end(queue, jobs)
    order = starts(queue)
    assert [set(order[:3]), set(order[3:6]), set(order[6:])] == [set(jobs[:3]), set(jobs[3:6]), set(jobs[6:])]


def test_a_job_that_somebody_has_moved_to_the_front_stays_there(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    all_end(queue, submit(queue, LENGTHS))
    running = queue.add(succeeds(after_s=50), command="python other.py")
    queue.passes(1)
    jobs = submit(queue, [500, 400, 300, 20])
    queue.database.execute("UPDATE jobs SET position = position - 1000 WHERE id = ?", (jobs[0],))
    queue.orders()
    all_end(queue, [running, *jobs])
    assert starts(queue)[0] == jobs[0]


def test_jobs_that_come_to_a_batch_later_start_too_and_the_first_of_them_not_at_once(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    all_end(queue, submit(queue, LENGTHS))
    batch = submit(queue, [100] * 20)
    queue.passes(1)
    late = submit(queue, [10])
    queue.passes(150)
    later = submit(queue, [20] * 10)
    queue.orders()
    all_end(queue, [*batch, *late, *later])
    order = starts(queue)
    assert order[0] not in late
    assert set(order) >= {*late, *later}
    assert len(order) == len(set(order))


def test_a_plan_is_not_given_up_for_more_short_jobs_when_more_is_known() -> None:
    """The short jobs that were to go first have gone. To let others go first, again and again, is to end later."""
    state, times = HostState(1, cpus(2)), RunTimes()
    lengths = [40, 700, 90, 300, 60, 500, 110, 200, 80, 400, 50, 600]
    batch = [job(id=number, gpus=0, command=f"sleep {length}") for number, length in enumerate(lengths, start=1)]
    for each, length in zip(batch, lengths, strict=True):
        times.note(each, length)
    plans = BatchPlans(state, times, plain_ask)
    order, made = plans.in_order(batch, state.seats, BARE, 0.0)
    assert order != batch
    state.keep_plans(made)
    for each, length in zip(batch, lengths, strict=True):
        times.note(each, length)
    left = set(order[4:])
    again, remade = plans.in_order([each for each in batch if each in left], state.seats, BARE, 0.0)
    assert [plan.known for plan in remade] != [plan.known for plan in made]
    assert again == order[4:]


def test_of_jobs_that_nobody_knows_the_first_starts_first(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    jobs = [queue.add(succeeds(after_s=20), command=f"./new-{number}", name=f"n{number}x") for number in range(8)]
    all_end(queue, jobs)
    assert starts(queue) == jobs


def test_a_run_that_turns_out_longer_than_expected_stops_nothing(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    all_end(queue, submit(queue, [30, 60, 90, 120, 60, 30]))
    jobs = [queue.add(succeeds(after_s=900), command=f"python train.py --steps {steps}") for steps in (30, 60, 90, 120)]
    assert all_end(queue, jobs) <= 1810


@pytest.mark.no_cover  # hundreds of ticks
def test_jobs_that_share_a_gpu_by_memory_are_planned_when_it_is_known_what_they_take(make_queue: MakeQueue) -> None:
    """A host does not know the model of its GPU, nor what jobs take there, until the driver has answered."""
    queue = make_queue(*gpus("24G"))

    def train(number: int, gpu_mb: int) -> int:
        needs = Needs(auto=True, recipe="/train.py", parameters=text_of({"run": f"number {number}"}))
        return queue.add(succeeds(100, gpu_mb=((0.0, gpu_mb),)), command=f"python train.py {number}", needs=needs)

    sizes_mb = [7000, 7000, 7000, 15_000, 15_000, 15_000]
    for number, gpu_mb in enumerate(sizes_mb):
        all_end(queue, [train(number, gpu_mb)])
    queue.ends()
    queue.begin()
    assert all_end(queue, [train(number, gpu_mb) for number, gpu_mb in enumerate(sizes_mb)]) < 320
