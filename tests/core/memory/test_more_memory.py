"""What a job that ran out of memory asks for next, and that this comes to an end."""

from __future__ import annotations

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.core.memory.more_memory import RanOut, next_host_needs, next_needs

ALONE = RanOut(held_mb=20_000, peak_mb=0, wanted_mb=0, alone=True, total_mb=20_000, largest_mb=20_000, all_mb=40_000)


def test_it_asks_for_more_then_for_a_gpu_to_itself() -> None:
    beside = ALONE._replace(alone=False, held_mb=2000)
    again = next_needs(Needs(gpu_mem_mb=2000), beside)
    assert again is not None
    assert (again.gpu_mem_mb, again.ooms) == (4000, 1)
    again = next_needs(again, beside._replace(held_mb=4000, wanted_mb=10_000))
    assert again is not None
    assert again.gpu_mem_mb == 11_000
    again = next_needs(again, beside._replace(held_mb=11_000))
    assert again is not None
    assert (again.alone, again.gpu_mem_mb) == (True, None)
    assert next_needs(again, ALONE) is None


def test_it_remembers_the_most_that_was_not_enough() -> None:
    beside = ALONE._replace(alone=False, held_mb=2000, peak_mb=2500, wanted_mb=3000)
    again = next_needs(Needs(auto=True), beside)
    assert again is not None
    assert again.ran_out_mb == 3000
    again = next_needs(again, beside._replace(peak_mb=1000, wanted_mb=0))
    assert again is not None
    assert again.ran_out_mb == 3000


def test_on_a_small_gpu_it_asks_for_a_larger_one() -> None:
    again = next_needs(Needs(alone=True), ALONE._replace(total_mb=10_000))
    assert again is not None
    assert again.larger_than_mb == 10_000


def test_beside_others_it_waits_for_a_gpu_that_has_more_free() -> None:
    crowded = ALONE._replace(foreign_mb=15_000)
    again = next_needs(Needs(auto=True), crowded)
    assert again is not None
    assert (again.alone, again.gpu_mem_mb, again.larger_than_mb) == (True, 6250, 0)
    again = next_needs(again, crowded._replace(foreign_mb=5000, wanted_mb=17_000))
    assert again is not None
    assert again.gpu_mem_mb == 18_600


@pytest.mark.parametrize("needs", [Needs(), Needs(gpu_mem_mb=100), Needs(total_gpu_mem_mb=100), Needs(auto=True)])
@pytest.mark.parametrize("foreign_mb", [0, 1300, 15_000])
def test_no_job_is_tried_for_ever(needs: Needs, foreign_mb: int) -> None:
    learned: Needs | None = needs
    for _ in range(30):
        assert learned is not None
        alone = learned.alone or learned == Needs()
        held = learned.gpu_mem_mb if learned.gpu_mem_mb and not alone else 20_000
        learned = next_needs(learned, ALONE._replace(alone=alone, held_mb=held, foreign_mb=foreign_mb))
        if learned is None:
            break
    assert learned is None


def test_the_memory_of_the_machine_is_doubled_until_it_is_all() -> None:
    needs: Needs | None = Needs(mem_mb=3000)
    asked = []
    while needs is not None:
        asked.append(needs.mem_mb)
        needs = next_host_needs(needs, 10_000)
    assert asked == [3000, 6000, 10_000]


def test_what_others_of_its_recipe_take_comes_before_twice_as_much() -> None:
    beside = ALONE._replace(alone=False, held_mb=2000, seen_mb=2600)
    for wanted_mb, asked_mb in ((0, 2600), (3000, 3300)):
        again = next_needs(Needs(gpu_mem_mb=2000), beside._replace(wanted_mb=wanted_mb))
        assert again is not None
        assert again.gpu_mem_mb == asked_mb


def test_it_asks_for_what_its_log_says_that_it_lacked_or_for_twice_what_it_took() -> None:
    beside = ALONE._replace(alone=False, held_mb=2000, peak_mb=6000, total_mb=40_000, largest_mb=40_000)
    told, silent = next_needs(Needs(), beside._replace(wanted_mb=7000)), next_needs(Needs(), beside)
    assert told is not None
    assert told.gpu_mem_mb == 7700
    assert silent is not None
    assert silent.gpu_mem_mb == 12_000


def test_one_that_kept_to_its_reservation_needs_no_more_than_that() -> None:
    """Others have taken its memory: it is not its fault, and three times it is retried with the same."""
    needs = Needs(gpu_mem_mb=10_000)
    victim = RanOut(10_000, 6_000, 8_000, alone=False, total_mb=80_000, largest_mb=80_000)
    for ooms in (1, 2, 3):
        again = next_needs(needs, victim)
        assert again is not None
        assert (again.gpu_mem_mb, again.alone, again.ooms) == (10_000, False, ooms)
        needs = again
    last = next_needs(needs, victim)
    assert last is not None
    assert last.alone
