"""How long jobs will take."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from duckrow.api.queue.eta import ExpectedStart, History, expected_ends, median


@pytest.mark.parametrize(("values", "middle"), [([], None), ([3.0], 3.0), ([9.0, 1.0, 2.0], 2.0), ([4.0, 2.0], 3.0)])
def test_the_median_is_what_stands_in_the_middle(values: list[float], middle: float | None) -> None:
    assert median(values) == middle


def test_a_job_is_expected_to_take_what_its_like_have_taken() -> None:
    took = [("p", "train", 10.0), ("p", "train", 30.0), ("p", "train", 20.0), ("q", "train", 99.0)]
    history = History((project, name, None, duration_s) for project, name, duration_s in took)
    assert history.expected_s("p", "train") == 20.0
    assert history.expected_s("q", "train") == 99.0
    assert history.expected_s("p", "other") is None


def test_only_the_latest_twenty_count() -> None:
    history = History([*[("p", "x", None, 1.0)] * 20, *[("p", "x", None, 100.0)] * 50])
    assert history.expected_s("p", "x") == 1.0


def test_of_a_run_that_has_not_run_yet_the_others_of_its_sweep_tell() -> None:
    history = History([("p", "rates-lr=0.1", "rates", 60.0), ("p", "rates-lr=0.2", "rates", 80.0)])
    assert history.expected_s("p", "rates-lr=0.3", "rates") == 70.0
    assert history.expected_s("p", "rates-lr=0.1", "rates") == 60.0  # its own name is nearer
    assert history.expected_s("q", "rates-lr=0.3", "rates") is None
    assert history.expected_s("p", "rates-lr=0.3") is None


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
