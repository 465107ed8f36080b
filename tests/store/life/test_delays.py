"""Jobs that must not begin yet, and the clocks that decide when they may."""

from __future__ import annotations

import time

import pytest

from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.store.life import delays
from duckrow.store.sqlite.connection import load_queries
from tests.store.shelf import Shelf, at

AGAIN = Verdict(Outcome.FAILED, True, 60.0, uses_retry=True)


def test_nothing_is_due_where_nothing_waits(shelf: Shelf) -> None:
    shelf.add("a")
    assert shelf.delays.next() == (None, None)


def test_a_job_with_a_time_of_day_waits_for_the_wall_clock(shelf: Shelf) -> None:
    shelf.add("a", not_before=1000.0)
    shelf.add("b", not_before=2000.0)
    shelf.add("c")
    assert shelf.head() == [3]
    assert shelf.delays.next() == (1000.0, None)
    shelf.release(at(999.9))
    assert shelf.head() == [3]
    shelf.release(at(1000.0))
    assert shelf.head() == [1, 3]
    assert shelf.delays.next() == (2000.0, None)


def test_a_time_of_day_follows_a_clock_that_is_set(shelf: Shelf) -> None:
    shelf.add("a", not_before=5000.0)
    shelf.release(at(1000.0)._replace(wall=4999.0))
    assert shelf.head() == []
    shelf.release(at(1000.0)._replace(wall=5000.0))
    assert shelf.head() == [1]


@pytest.mark.parametrize("step_s", [-7200.0, 7200.0])
def test_a_back_off_is_as_long_as_it_is_whatever_the_wall_clock_does(shelf: Shelf, step_s: float) -> None:
    shelf.add("a", retries=3)
    began = at(1010.0)
    shelf.requeue(shelf.run(1), AGAIN, began)
    assert shelf.delays.next() == (None, began.boot + 60.0)
    shelf.release(began._replace(wall=began.wall + step_s, boot=began.boot + 59.9))
    assert shelf.head() == []
    shelf.release(began._replace(wall=began.wall + step_s, boot=began.boot + 60.0))
    assert shelf.head() == [1]
    assert shelf.delays.next() == (None, None)


def test_a_delay_counts_from_when_the_job_is_added(shelf: Shelf) -> None:
    before_boot, before = time.clock_gettime(time.CLOCK_BOOTTIME), time.time()
    shelf.add("a", delay_s=7200.0)
    _, next_boot = shelf.delays.next()
    assert next_boot is not None
    assert before_boot + 7200 <= next_boot <= time.clock_gettime(time.CLOCK_BOOTTIME) + 7200
    (row,) = shelf.jobs.pick()
    assert row.not_before is not None
    assert before + 7200 <= row.not_before <= time.time() + 7200, "people are shown the wall time"


def test_after_a_reboot_the_wall_time_decides(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delays, "boot_id", lambda: "before")
    shelf.add("a", retries=3)
    shelf.requeue(shelf.run(1), AGAIN, at(1010.0))
    monkeypatch.setattr(delays, "boot_id", lambda: "after")
    shelf.add("b", delay_s=7200.0)
    with shelf.database.transaction():
        shelf.delays.end_those_of_earlier_boots()
    next_wall, next_boot = shelf.delays.next()
    assert next_wall == 1070.0
    assert next_boot is not None, "the one of this boot is as it was"
    just_booted = at(1080.0)._replace(mono=5.0, boot=5.0)
    shelf.release(just_booted)
    assert shelf.head() == [1]


def test_when_the_clock_is_set_the_wall_time_of_a_delay_is_told_by_it(shelf: Shelf) -> None:
    shelf.add("a", retries=3)
    shelf.requeue(shelf.run(1), AGAIN, at(1010.0))
    shelf.add("b", not_before=5000.0)
    set_ahead = at(1020.0)._replace(wall=8220.0)
    with shelf.database.transaction():
        shelf.delays.restate(set_ahead)
    assert [row.not_before for row in shelf.jobs.pick()] == [8270.0, 5000.0]


def test_the_next_that_is_due_is_found_without_reading_all_jobs(shelf: Shelf) -> None:
    for name, index in (
        ("next_at_a_time", "jobs_at_a_time"),
        ("next_delayed", "jobs_delayed"),
        ("release_at_a_time", "jobs_at_a_time"),
        ("release_delayed", "jobs_delayed"),
        ("end_delays_of_earlier_boots", "jobs_delayed"),
        ("restate_delays", "jobs_delayed"),
    ):
        values = {"wall": 1.0, "boot": 1.0, "boot_id": "b", "wall_at_boot": 1.0}
        steps = shelf.database.all(f"EXPLAIN QUERY PLAN {load_queries('delays')[name]}", values)
        assert all(index in row["detail"] for row in steps), (name, [row["detail"] for row in steps])
