"""The head of a queue: what it costs to look at it."""

from __future__ import annotations

from tests.store.shelf import Shelf


def test_a_queue_that_is_paused_is_looked_at_for_the_same_cost_however_many_wait(shelf: Shelf) -> None:
    """A daemon looks with every change that anybody makes."""
    shelf.jobs.pause("")
    costs = []
    for count in (10, 500):
        shelf.add(*["true"] * count)
        steps: list[int] = []
        shelf.database._connection.set_progress_handler(lambda steps=steps: steps.append(1), 10)  # type: ignore[misc]
        assert shelf.head() == []
        costs.append(len(steps))
    few, many = costs
    assert many <= few + 1


def test_once_it_is_resumed_the_same_jobs_are_there(shelf: Shelf) -> None:
    jobs = shelf.add("true", "true")
    shelf.jobs.pause("")
    assert shelf.head() == []
    shelf.jobs.unpause("")
    assert shelf.head() == jobs
