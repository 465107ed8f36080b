"""In which order the jobs of a queue will end."""

from __future__ import annotations

import math
from collections.abc import Iterator

from duckrow.api.queue.queue_walk import ExpectedStart, walk_queue


def waiting(*seconds: float, seats: int = 1) -> list[ExpectedStart]:
    return [ExpectedStart(number, expected_s, seats) for number, expected_s in enumerate(seconds, start=1)]


def test_on_one_seat_jobs_end_one_after_the_other() -> None:
    assert walk_queue(1, [5.0], waiting(10, 20), {1, 2}).ends_in_s == {1: 15.0, 2: 35.0}


def test_on_two_seats_the_next_takes_the_one_that_is_free_first() -> None:
    assert walk_queue(2, [7.0], waiting(10, 20, 30), {1, 2, 3}).ends_in_s == {1: 10.0, 2: 27.0, 3: 40.0}


def test_a_job_on_several_seats_waits_for_all_of_them() -> None:
    assert walk_queue(2, [7.0, 3.0], waiting(10, seats=2), {1}).ends_in_s == {1: 17.0}


def test_a_job_that_wants_more_seats_than_there_are_stops_nothing() -> None:
    assert walk_queue(2, [], waiting(10, seats=5), {1}).ends_in_s == {1: 10.0}


def test_a_seat_on_which_more_runs_than_is_ours_is_still_one() -> None:
    assert walk_queue(1, [5.0, 7.0, 3.0], waiting(10, 20), {1, 2}).ends_in_s == {1: 17.0, 2: 37.0}


def test_behind_a_job_of_which_nothing_is_known_nothing_is_known() -> None:
    assert walk_queue(1, [], waiting(10, math.inf, 10), {1, 2, 3}).ends_in_s == {1: 10.0}
    assert walk_queue(1, [math.inf], waiting(10), {1}).ends_in_s == {}


def test_no_more_of_the_queue_is_read_than_is_needed() -> None:
    def endless() -> Iterator[ExpectedStart]:
        for number in range(1, 1000):
            assert number < 4
            yield ExpectedStart(number, 1.0, 1)

    assert walk_queue(1, [], endless(), {3}).ends_in_s == {1: 1.0, 2: 2.0, 3: 3.0}


def test_a_walk_says_whether_more_could_be_known() -> None:
    assert not walk_queue(1, [], waiting(10, 20, 30), {2}).is_complete
    assert walk_queue(1, [], waiting(10, 20), {7}).is_complete
    assert walk_queue(1, [], waiting(10, math.inf, 10), {3}).is_complete
