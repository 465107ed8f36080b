"""Jobs drawn below those that they wait for."""

from __future__ import annotations

from typing import Any

from duckrow.api.queue.views import JobView
from duckrow.cli.views.tree import as_tree


def view(job_id: int) -> JobView:
    values: dict[str, Any] = dict.fromkeys(JobView.__dataclass_fields__)
    return JobView(**{**values, "id": job_id, "name": f"job{job_id}"})


def drawn(ids: list[int], edges: list[tuple[int, int]]) -> list[str]:
    return [one.name for one in as_tree([view(job_id) for job_id in ids], edges)]


def test_jobs_that_wait_for_nobody_keep_their_order() -> None:
    assert drawn([3, 1, 2], []) == ["job3", "job1", "job2"]


def test_each_stands_below_the_one_that_it_waits_for() -> None:
    assert drawn([1, 2, 3, 4], [(3, 1), (4, 3)]) == ["job1", "└ job3", "  └ job4", "job2"]


def test_one_that_waits_for_several_stands_below_the_last() -> None:
    assert drawn([1, 2, 3], [(3, 1), (3, 2)]) == ["job1", "job2", "└ job3"]


def test_those_that_are_not_shown_do_not_count() -> None:
    assert drawn([2, 3], [(2, 1), (3, 2)]) == ["job2", "└ job3"]
