"""A few jobs stop before many run out of memory together."""

from __future__ import annotations

import pytest

from duckrow.core.memory.growing import TRIED_OUT_S, UnknownJob, give_way
from duckrow.core.memory.use import Use


def job(number: int, used_mb: int, grows_by_mb: int, reserved_mb: int = 0) -> UnknownJob:
    return UnknownJob(number, used_mb, grows_by_mb, reserved_mb, age_s=10.0)


THREE = [job(1, 3000, 1000), job(2, 4000, 1500), job(3, 2000, 500)]


def test_nobody_stops_while_there_is_room_for_the_next_growth_of_half_of_them() -> None:
    """Who has grown may grow again, or stay: most take their memory at the beginning, and no more later."""
    assert give_way(THREE, free_mb=1500) == []
    assert give_way(THREE, free_mb=1499) == [2]


def test_the_largest_stop_so_that_few_have_to() -> None:
    many = [job(number, 1000 * number, 4000 * number) for number in range(1, 6)]  # that grow by 60,000 together
    assert give_way(many, free_mb=20_000) == [5]
    assert give_way(many, free_mb=10_000) == [5, 4]


def test_the_youngest_stops_first_of_those_that_use_as_much() -> None:
    alike = [job(1, 3000, 1000)._replace(age_s=5.0), job(2, 3000, 1000)]
    assert give_way(alike, free_mb=500) == [1]


def test_one_that_keeps_to_what_it_has_reserved_never_stops() -> None:
    assert give_way([job(1, 3000, 1000, reserved_mb=4000), job(2, 1000, 1000)], free_mb=500) == [2]
    assert give_way([job(1, 3000, 1000, 4000), job(2, 1000, 1000, 2000)], free_mb=500) == []


def test_one_that_has_run_for_long_never_stops() -> None:
    old, young = (job(1, 3000, 1000)._replace(age_s=TRIED_OUT_S + 1), job(2, 1000, 1000))
    assert give_way([old, young], free_mb=500) == [2]
    assert give_way([old, old], free_mb=500) == []


def test_one_always_stays() -> None:
    assert give_way(THREE, free_mb=-20_000) == [2, 1]
    assert give_way(THREE[:1], free_mb=0) == []


# -- when a run grows next ------------------------------------------------------------------------------------------


@pytest.fixture
def use() -> Use:
    """It has grown by 2000 MB ten seconds after its first memory, at 15."""
    use = Use(0.0)
    for mono in range(5, 16):
        use.note(float(mono), {"0": 1000 if mono < 15 else 3000}, 50.0)
    return use


def test_a_run_that_grew_is_expected_to_grow_by_as_much_after_as_long_a_rest(use: Use) -> None:
    assert use.last_growth_mb == 2000
    assert [use.grows_by_mb(mono, within_s=2.0) for mono in (20.0, 21.0, 25.0, 35.0, 36.0)] == [0, 2000, 2000, 2000, 0]


def test_a_run_that_has_only_taken_its_first_memory_tells_nothing() -> None:
    use = Use(0.0)
    use.note(1.0, {"0": 1000}, 50.0)
    assert use.last_growth_mb == use.grows_by_mb(2.0, within_s=60.0) == 0
