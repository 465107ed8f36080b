"""How many jobs at a time are worth it: found from the times of finished runs, whatever the GPU is like."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.schedule.pace import BestPace, Crowds, Finished, best_pace, first_number, next_number

SEEDS = st.integers(0, 2**32)


def ends(random: Random, together: int, fills: int, run_s: float, crowding: float = 0.0) -> list[Finished]:
    """Of runs of which this many fill the GPU, and which then slow each other down."""
    beyond = max(together - fills, 0)
    lasted_s = run_s * max(together / fills, 1) * (1 + crowding * beyond)
    return [Finished(together, lasted_s * random.uniform(0.99, 1.01)) for _ in range(max(together, 4))]


@given(SEEDS)
def test_the_fewest_that_are_as_good_as_more_are_held(seed: int) -> None:
    random = Random(seed)
    fills, run_s = 2 ** random.randint(1, 4), random.uniform(2, 500)
    seen = [end for number in (1, fills, 4 * fills) for end in ends(random, number, fills, run_s, 0.05)]
    found = best_pace(seen)
    assert found is not None
    assert (found.together, found.tried, found.against) == (fills, 4 * fills, 1)
    assert found.times == pytest.approx(fills, rel=0.05)
    assert next_number(seen, 1000, None) == fills


@given(SEEDS)
def test_as_long_as_more_are_better_twice_as_many_are_tried(seed: int) -> None:
    random = Random(seed)
    seen = ends(random, 4, 64, 10) + ends(random, 8, 64, 10)
    assert best_pace(seen) is None
    assert next_number(seen, 1000, 8) == 16
    assert next_number(seen, 0, 8) is None  # nobody waits who could profit


def test_a_long_queue_is_tried_with_fewer_first() -> None:
    seen = ends(Random(1), 16, 4, 10)
    assert next_number(seen, 64, 16) == 8
    assert next_number(seen, 10, 16) == 16


def test_where_more_hardly_helped_no_more_are_started_though_the_queue_is_short() -> None:
    hardly = [Finished(number, number / rate) for number, rate in ((8, 1.0), (16, 1.2)) for _ in range(8)]
    paid = [Finished(number, number / rate) for number, rate in ((8, 1.0), (16, 1.6)) for _ in range(8)]
    assert next_number(hardly, 20, 16) == 16
    assert next_number(paid, 20, 16) is None


def test_runs_that_do_not_do_the_same_work_tell_nothing() -> None:
    seen = [Finished(number, seconds) for number in (2, 8) for seconds in (1.0, 50.0, 300.0, 4.0)]
    assert best_pace(seen) is None
    assert next_number(seen, 1000, 16) == 16


def test_a_queue_that_is_not_long_starts_at_once() -> None:
    assert first_number(None, 16, 1, 24) is None
    assert first_number(None, 16, 1, 25) == 16
    assert first_number(None, 16, 1, 100) == 16
    assert first_number(None, 16, 8, 100) == 4
    assert first_number(None, None, 1, 100) is None
    assert first_number(BestPace(6, 12, 1, 3.0), 16, 1, 100) == 6
    assert first_number(BestPace(6, 12, 1, 3.0), 16, 1, 9) is None


def test_it_is_told_in_words() -> None:
    assert BestPace(6, 12, 1, 3.14).words == "6 at a time: 3.1 x one at a time; more did not help"
    assert BestPace(6, 12, 6, 1.0).words == "6 at a time; more did not help"


def test_how_many_there_were_is_averaged_over_time() -> None:
    crowds = Crowds()
    crowds.note({"0": 1}, 100.0)
    crowds.came(1, "0", 100.0)
    crowds.note({"0": 3}, 110.0)
    crowds.note({"0": 1}, 120.0)
    assert crowds.went(1, 140.0) == pytest.approx((10 * 1 + 10 * 3 + 20 * 1) / 40)
    assert crowds.went(2, 140.0) is None


def test_where_the_gpu_is_always_busy_fewer_are_tried_with_a_shorter_queue() -> None:
    seen = ends(Random(1), 16, 4, 10)
    assert next_number(seen, 40, 16) == 16
    assert next_number([end._replace(busy=99.0) for end in seen], 40, 16) == 8
    assert next_number([end._replace(busy=60.0) for end in seen], 40, 16) == 16


def test_where_no_core_is_left_more_are_not_tried() -> None:
    random = Random(1)
    seen = [end._replace(cores_busy=50.0) for end in ends(random, 4, 64, 10)]
    seen += [end._replace(cores_busy=99.0) for end in ends(random, 8, 64, 10)]
    assert next_number(seen, 1000, 8) == 8
    assert next_number([end._replace(cores_busy=80.0) for end in seen], 1000, 8) == 16
    found = best_pace(seen)
    assert found is not None
    assert found.words == "8 at a time: 2.0 x 4 at a time; all cores were busy"


def test_where_no_core_is_left_fewer_are_tried_with_a_shorter_queue() -> None:
    seen = ends(Random(1), 16, 4, 10)
    assert next_number([end._replace(cores_busy=99.0) for end in seen], 40, 16) == 8
    assert best_pace([end._replace(cores_busy=99.0) for end in seen]) is None  # nothing to compare with


def test_a_pace_that_has_hardly_changed_need_not_be_written_again() -> None:
    assert BestPace(6, 12, 1, 3.10).is_like(BestPace(6, 12, 1, 3.14))
    assert not BestPace(6, 12, 1, 3.5).is_like(BestPace(6, 12, 1, 3.14))
    assert not BestPace(4, 12, 1, 3.14).is_like(BestPace(6, 12, 1, 3.14))
    assert not BestPace(6, 12, 1, 3.14).is_like(None)
