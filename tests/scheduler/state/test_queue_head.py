"""The head of the queue that is kept in memory: when it must be read again, and when nothing is behind it."""

from __future__ import annotations

import pytest

from duckrow.core.jobs.job import QueuedJob
from duckrow.scheduler.state.queue_head import HEAD, QueueHead
from tests.core.language import job

NOTHING_FULL: frozenset[str] = frozenset()


def head_of(count: int) -> tuple[QueueHead, list[QueuedJob]]:
    """As it was just read, and the jobs in it."""
    jobs = [job(id=number) for number in range(1, count + 1)]
    head = QueueHead()
    head.was_read(list(jobs), NOTHING_FULL)
    return head, jobs


@pytest.mark.parametrize(("count", "may_be_more"), [(HEAD - 1, False), (HEAD, True)])
def test_a_full_head_that_ran_empty_is_read_again_since_more_may_be_behind_it(count: int, may_be_more: bool) -> None:
    head, jobs = head_of(count)
    assert not head.is_to_be_read(NOTHING_FULL)
    head.drop(jobs)
    assert not head
    assert head.is_to_be_read(NOTHING_FULL) == may_be_more


def test_it_is_read_again_when_another_scope_is_full() -> None:
    head, _ = head_of(3)
    assert head.is_to_be_read(frozenset({"project:vision"}))


def test_those_that_overtook_leave_the_others_in_their_order() -> None:
    head, jobs = head_of(4)
    head.drop([jobs[1], jobs[3]])
    assert head.jobs == [jobs[0], jobs[2]]


def test_who_is_shunned_is_left_out() -> None:
    head, jobs = head_of(3)
    head.was_read(jobs, NOTHING_FULL, frozenset({2}))
    assert [each.id for each in head.jobs] == [1, 3]


def test_it_knows_whether_any_of_its_jobs_asks_for_more_than_devices() -> None:
    jobs = [job(id=1), job(id=2, needs="{}"), job(id=3, needs="{}"), job(id=4)]
    head = QueueHead()
    head.was_read(list(jobs), NOTHING_FULL)
    assert head.any_needs
    head.drop(jobs[:2])
    assert head.any_needs
    head.drop([jobs[2]])
    assert not head.any_needs
