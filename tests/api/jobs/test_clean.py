"""Old jobs, and those that runs have left behind, are forgotten."""

from __future__ import annotations

import time

import pytest

from duckrow.api.jobs.clean import clean, left_by_runs, old_jobs
from duckrow.core.errors import ConflictError, NotFoundError
from duckrow.store.hosts import try_lock, unlock
from tests.api.quiet_queue import QuietQueue

HOUR = 3600.0


def ended_ago(queue: QuietQueue, job: int, ago_s: float) -> None:
    queue.start(job, started_at=time.time() - ago_s - 5)
    queue.end(job)
    queue.write("UPDATE jobs SET changed_at = ? WHERE id = ?", time.time() - ago_s, job)


def test_jobs_are_old_when_they_have_been_done_for_that_long(queue: QuietQueue) -> None:
    old, young, waiting = queue.add("old", "young", "waiting")
    ended_ago(queue, old, 2 * HOUR)
    ended_ago(queue, young, 60)
    assert old_jobs(queue.client, HOUR) == [old]
    assert clean(queue.client, [old, 99]) == [old]
    assert [view.id for view in queue.client.views([old, young, waiting])] == [young, waiting]


def test_what_a_run_left_behind_is_found_by_its_name_once_it_has_ended(queue: QuietQueue) -> None:
    first, second = (queue.client.hosts.add_run(name, "/", "") for name in ("sweep-1", "sweep-2"))
    (left,), (other,) = queue.add("left", host=first), queue.add("other", host=second)
    assert left_by_runs(queue.client) == [left, other]
    assert left_by_runs(queue.client, "sweep-2") == [other]
    assert left_by_runs(queue.client, str(first)) == [left]
    newer = queue.client.hosts.add_run("sweep-2", "/", "")
    (latest,) = queue.add("latest", host=newer)
    assert left_by_runs(queue.client, "sweep-2") == [latest]
    with pytest.raises(NotFoundError, match=r"There is no run sweep-3\."):
        left_by_runs(queue.client, "sweep-3")
    lock = try_lock(queue.folder, first)
    assert lock is not None
    with pytest.raises(ConflictError, match=r"sweep-1 is still running\."):
        left_by_runs(queue.client, "sweep-1")
    unlock(queue.folder, first, lock)


def test_nothing_is_cleaned_where_nothing_is_old(queue: QuietQueue) -> None:
    queue.add()
    assert clean(queue.client, []) == []
