"""How long jobs will take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from duckrow.api.queue.eta import ExpectedStart, ExpectedTimes, expected_ends
from duckrow.core.schedule.run_times import RunTimes


class Queued(NamedTuple):
    command: str
    name: str = "train"
    sweep: str | None = None
    project: str = "p"
    cwd: str = "/"
    needs: str | None = None


def test_of_jobs_far_behind_in_a_queue_those_before_them_tell() -> None:
    times = RunTimes()
    for size in range(1, 9):
        times.note(Queued(f"./train --size {size}"), 10.0 * size)
    expected = ExpectedTimes(times)
    assert expected.seconds(Queued("./train --size 4")) == 40.0
    assert expected.seconds(Queued("./train --size 5")) == 50.0
    for _ in range(500):
        expected.seconds(Queued("./other", name="other"))
    assert expected.seconds(Queued("./train --size 8")) == 45.0
    assert expected.seconds(Queued("./third", name="third")) is None


def waiting(*seconds: float, seats: int = 1) -> list[ExpectedStart]:
    return [ExpectedStart(number, expected_s, seats) for number, expected_s in enumerate(seconds, start=1)]


def test_on_one_seat_jobs_end_one_after_the_other() -> None:
    assert expected_ends(1, [5.0], waiting(10, 20), {1, 2}) == {1: 15.0, 2: 35.0}


def test_on_two_seats_the_next_takes_the_one_that_is_free_first() -> None:
    assert expected_ends(2, [7.0], waiting(10, 20, 30), {1, 2, 3}) == {1: 10.0, 2: 27.0, 3: 40.0}


def test_a_job_on_several_seats_waits_for_all_of_them() -> None:
    assert expected_ends(2, [7.0, 3.0], waiting(10, seats=2), {1}) == {1: 17.0}


def test_a_job_that_wants_more_seats_than_there_are_stops_nothing() -> None:
    assert expected_ends(2, [], waiting(10, seats=5), {1}) == {1: 10.0}


def test_a_seat_on_which_more_runs_than_is_ours_is_still_one() -> None:
    assert expected_ends(1, [5.0, 7.0, 3.0], waiting(10, 20), {1, 2}) == {1: 17.0, 2: 37.0}


def test_behind_a_job_of_which_nothing_is_known_nothing_is_known() -> None:
    assert expected_ends(1, [], waiting(10, math.inf, 10), {1, 2, 3}) == {1: 10.0}
    assert expected_ends(1, [math.inf], waiting(10), {1}) == {}


def test_no_more_of_the_queue_is_read_than_is_needed() -> None:
    def endless() -> Iterator[ExpectedStart]:
        for number in range(1, 1000):
            assert number < 4
            yield ExpectedStart(number, 1.0, 1)

    assert expected_ends(1, [], endless(), {3}) == {3: 3.0}
