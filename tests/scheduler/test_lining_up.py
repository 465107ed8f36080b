"""Short jobs are lined up behind one another; whatever else happens, they stand back."""

from __future__ import annotations

from itertools import pairwise

import pytest

from duckrow.core.clock import Now
from duckrow.core.ports import StartOrder
from duckrow.core.schedule.decide import line_length
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, ignores_sigterm, runs, slots, succeeds


@pytest.fixture
def brisk(make_queue: MakeQueue) -> Queue:
    """A queue whose jobs have been so short lately that the next are lined up."""
    queue = make_queue(slots(1))
    for _ in range(60):
        queue.add(succeeds(after_s=0.001))
    queue.passes(0.5)
    queue.orders()
    return queue


def test_short_jobs_are_lined_up_and_each_runs_once(brisk: Queue) -> None:
    jobs = [brisk.add(succeeds(after_s=0.001)) for _ in range(40)]
    brisk.passes(1)
    assert brisk.states(*jobs) == ["succeeded"] * 40
    orders = brisk.orders()
    assert sum(order.startswith("line-up") for order in orders) > 10
    assert [len(brisk.attempts(job)) for job in jobs] == [1] * 40
    assert brisk.booked() == {}


@pytest.fixture
def followed() -> list[int]:
    """How many jobs have started each time that the loop, while it wrote, let others follow."""
    return []


@pytest.fixture
def eager(brisk: Queue, followed: list[int]) -> Queue:
    """Jobs end also while the loop writes."""
    machine, clock, engine = brisk.machine, brisk.clock, brisk.host().engine

    def follow_up() -> None:
        before = len(machine.processes)
        clock.go_on(0.0004)
        for attempt_id, process in list(machine.processes.items()):
            if process.has_ended(clock.now().mono):
                engine.look(attempt_id)
        followed.append(len(machine.processes) - before)

    engine.follow_up = follow_up  # type: ignore[method-assign]
    return brisk


def test_jobs_that_end_while_the_loop_writes_are_followed_at_once_and_each_runs_once(
    eager: Queue, followed: list[int]
) -> None:
    jobs = [eager.add(succeeds(after_s=0.001)) for _ in range(150)]
    eager.passes(2)
    assert eager.states(*jobs) == ["succeeded"] * 150
    assert [len(eager.attempts(job)) for job in jobs] == [1] * 150
    assert sum(followed) > 50
    spans = sorted((process.started_mono, process.ends_mono) for process in eager.machine.processes.values())
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans)), "one slot, one job at a time"
    assert eager.booked() == {}


def test_many_ends_are_written_at_a_time_also_while_jobs_end_as_it_writes(eager: Queue) -> None:
    ticks, tick = [0], eager.host().loop.state.begin_tick

    def counted(now: Now, changed_by_others: bool) -> bool:
        ticks[0] += 1
        return tick(now, changed_by_others)

    vars(eager.host().loop.state)["begin_tick"] = counted
    for _ in range(150):
        eager.add(succeeds(after_s=0.001))
    eager.passes(2)
    assert ticks[0] <= 150 / (line_length(0.001) / 2), "half a line at a time, or more"


def test_those_of_a_tick_stand_in_line_before_the_first_of_them_can_end(eager: Queue) -> None:
    engine, lengths = eager.host().engine, list[int]()
    line_up = engine.line_up

    def noted(order: StartOrder) -> None:
        line_up(order)
        lengths.append(engine.lined_up())

    engine.line_up = noted  # type: ignore[method-assign]
    jobs = [eager.add(succeeds(after_s=0.0003)) for _ in range(60)]  # each has ended when the next could be lined up
    eager.passes(1)
    assert eager.states(*jobs) == ["succeeded"] * 60
    assert max(lengths) > 5


def test_one_that_is_killed_while_the_loop_writes_starts_once_or_never(eager: Queue) -> None:
    jobs = [eager.add(succeeds(after_s=0.001)) for _ in range(60)]
    for victim in jobs[::7]:
        eager.passes(0.002)
        eager.kill(victim)
    eager.passes(2)
    assert {eager.state(job) for job in jobs[::7]} <= {"killed", "succeeded"}
    assert max(len(eager.attempts(job)) for job in jobs) == 1
    others = [job for job in jobs if job not in jobs[::7]]
    assert eager.states(*others) == ["succeeded"] * len(others)
    assert all(eager.attempts(job) for job in others)
    assert eager.booked() == {}


def test_those_behind_a_job_that_turns_out_to_be_slow_stand_back(brisk: Queue) -> None:
    slow = brisk.add(succeeds(after_s=100))
    behind = [brisk.add(succeeds(after_s=0.001)) for _ in range(5)]
    brisk.passes(1)
    assert brisk.states(slow, *behind) == ["running"] + ["queued"] * 5
    assert sum(order.startswith("stand-down") for order in brisk.orders()) == 5
    brisk.passes(100)
    assert brisk.states(*behind) == ["succeeded"] * 5
    assert [len(brisk.attempts(job)) for job in behind] == [1] * 5


def test_one_that_is_lined_up_and_killed_never_starts(brisk: Queue) -> None:
    brisk.add(runs())
    behind = brisk.add(succeeds(after_s=0.001))
    brisk.passes(0.01)
    brisk.kill(behind)
    brisk.passes()
    assert brisk.state(behind) == "killed"
    assert brisk.attempts(behind) == []


def test_those_in_line_when_the_host_dies_are_queued_again(brisk: Queue) -> None:
    first = brisk.add(succeeds(after_s=10))
    behind = [brisk.add(succeeds(after_s=0.001)) for _ in range(3)]
    brisk.passes(0.01)
    assert brisk.states(*behind) == ["starting"] * 3
    brisk.dies()
    brisk.begin()
    brisk.passes(1)
    assert brisk.states(first, *behind) == ["running"] + ["queued"] * 3
    brisk.passes(10)
    assert brisk.states(first, *behind) == ["succeeded"] * 4


def test_nobody_is_lined_up_while_a_limit_is_set(brisk: Queue) -> None:
    brisk.limit("project:default", 1)
    jobs = [brisk.add(succeeds(after_s=0.001)) for _ in range(5)]
    brisk.passes(1)
    assert brisk.states(*jobs) == ["succeeded"] * 5
    assert not any(order.startswith("line-up") for order in brisk.orders())


def test_nobody_is_lined_up_behind_a_job_that_is_being_stopped(brisk: Queue) -> None:
    stopped = brisk.add(ignores_sigterm(), grace_s=10)
    brisk.passes()
    brisk.kill(stopped)
    for _ in range(3):
        brisk.add(succeeds(after_s=0.001))
    brisk.passes(0.01)
    assert brisk.orders() == [f"start {stopped}", f"stop {stopped} step 1"]


def short_jobs(make_queue: MakeQueue, devices: int) -> Queue:
    """A queue whose jobs have lasted 30 ms lately: one is lined up behind each that runs."""
    queue = make_queue(slots(devices))
    for _ in range(5):
        queue.add(succeeds(after_s=0.03))
    queue.passes(0.5)
    queue.orders()
    return queue


def test_of_jobs_that_last_more_than_a_moment_only_one_is_lined_up_behind_each(make_queue: MakeQueue) -> None:
    queue = short_jobs(make_queue, 2)
    jobs = [queue.add(succeeds(after_s=0.03)) for _ in range(6)]
    queue.passes(0.01)
    assert queue.states(*jobs) == ["running"] * 2 + ["starting"] * 2 + ["queued"] * 2
    queue.passes(1)
    assert queue.states(*jobs) == ["succeeded"] * 6
    assert [len(queue.attempts(job)) for job in jobs] == [1] * 6


def test_a_lined_up_job_that_lasts_more_than_a_moment_takes_another_device_that_becomes_free(
    make_queue: MakeQueue,
) -> None:
    queue = short_jobs(make_queue, 2)
    longer = queue.add(succeeds(after_s=0.2))
    short = queue.add(succeeds(after_s=0.03))
    behind_longer, behind_short = queue.add(succeeds(after_s=0.03)), queue.add(succeeds(after_s=0.03))
    queue.passes(0.01)
    assert queue.states(behind_longer, behind_short) == ["starting"] * 2
    queue.passes(0.1)
    assert queue.states(longer, short, behind_short, behind_longer) == ["running"] + ["succeeded"] * 3


def test_nobody_is_lined_up_before_it_is_known_how_long_jobs_take(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    queue.add(succeeds(after_s=0.001))
    queue.passes(0.5)
    queue.add(runs())
    waiting = queue.add(succeeds(after_s=0.001))
    queue.passes(0.01)
    assert queue.state(waiting) == "queued"


@pytest.mark.parametrize(("name", "after_s"), [("true", 2.0), ("other", 0.0)])
def test_nobody_waits_behind_a_job_of_which_none_has_ended_lately(brisk: Queue, name: str, after_s: float) -> None:
    brisk.passes(after_s)
    first, behind = brisk.add(runs(), name=name), brisk.add(succeeds(after_s=0.001))
    brisk.passes(0.01)
    assert brisk.states(first, behind) == ["running", "queued"]
