"""The head of a queue: what it costs to look at it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from duckrow.core.life.states import State
from tests.store.shelf import Shelf


def test_a_queue_that_is_paused_is_looked_at_for_the_same_cost_however_many_wait(shelf: Shelf) -> None:
    """A daemon looks with every change that anybody makes."""
    shelf.jobs.pause("")
    costs = []
    for count in (10, 500):
        shelf.add(*["true"] * count)
        costs.append(cost_of(shelf, lambda: shelf.head() == []))
    few, many = costs
    assert many <= few + 1


@pytest.mark.no_cover  # hundreds of jobs
def test_whether_anything_is_left_costs_the_same_however_many_are_done(shelf: Shelf) -> None:
    """A run asks that when its last job has ended, and the store may have a million of earlier ones."""
    costs = []
    for count in (10, 500):
        for job_id in shelf.add(*["true"] * count):
            shelf.finish(shelf.run(job_id))
        costs.append(cost_of(shelf, lambda: not shelf.tick.queue.is_unfinished()))
    few, many = costs
    assert many <= few + 1


def test_what_is_left_waits_for_a_device_or_something_else_or_has_an_attempt(shelf: Shelf) -> None:
    started, _done, *_waiting = shelf.add("a", "b", "c")
    held, *_ = shelf.add("d", held=True)
    shelf.start(started)
    shelf.finish(shelf.run(2))
    shelf.add("of another host", host_id=shelf.hosts.add_run("", "/work", ""))
    assert sorted(shelf.tick.queue.unfinished()) == [(started, State.STARTING), (3, State.QUEUED), (held, State.QUEUED)]


def test_jobs_that_are_withheld_are_neither_at_the_head_nor_left(shelf: Shelf) -> None:
    first, second, third = shelf.add("a", "b", "c")
    queue = shelf.tick.queue
    assert [job.id for job in queue.eligible(1, without={first, third})] == [second]
    assert queue.eligible(10, without={first, second, third}) == []
    assert queue.is_unfinished({first, third})
    assert not queue.is_unfinished({first, second, third})


def cost_of(shelf: Shelf, holds: Callable[[], bool]) -> int:
    """How much SQLite does for a question."""
    steps: list[int] = []
    shelf.database._connection.set_progress_handler(lambda: steps.append(1), 10)
    assert holds()
    shelf.database._connection.set_progress_handler(None, 0)
    return len(steps)


def test_once_it_is_resumed_the_same_jobs_are_there(shelf: Shelf) -> None:
    jobs = shelf.add("true", "true")
    shelf.jobs.pause("")
    assert shelf.head() == []
    shelf.jobs.unpause("")
    assert shelf.head() == jobs
