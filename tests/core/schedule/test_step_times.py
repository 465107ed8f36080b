"""How long steps take is known before runs end, whatever number of steps each of them has."""

from __future__ import annotations

import pytest

from duckrow.core.ports import CoreTime
from duckrow.core.schedule.pace import best_pace
from duckrow.core.schedule.step_times import Company, Step, StepTimes


def run(
    times: StepTimes, attempt_id: int, together: int, step_s: float, *, starts_s: float = 0.0, looks: int = 5
) -> bool:
    """It is looked at every 100 steps; whether the last look told anything."""
    told = False
    for look in range(1, looks + 1):
        step = Step(100 * look, 1000.0 + starts_s + 100 * look * step_s)
        told = times.note(attempt_id, 1000.0, step, Company(together))
    return told


def test_the_pace_is_known_before_any_run_ends() -> None:
    times = StepTimes()
    for number, step_s in ((1, 0.1), (4, 0.1), (16, 0.5)):  # four at a time fill the GPU; more are in each other's way
        for attempt in range(4):
            run(times, 100 * number + attempt, number, step_s)
    found = best_pace(times.took)
    assert found is not None
    assert (found.together, found.tried, found.against) == (4, 16, 1)
    assert found.times == pytest.approx(4)


def test_the_first_step_alone_tells_nothing() -> None:
    assert not run(StepTimes(), 1, 4, 0.1, looks=1)


def test_once_others_come_or_go_counting_begins_again() -> None:
    times = StepTimes()
    for number in (1, 2, 3):
        times.note(1, 1000.0, Step(100 * number, 1000.0 + 10 * number), Company(2))
    assert not times.note(1, 1000.0, Step(350, 1035.0), Company(8))  # its last step may be older than its company
    assert not times.note(1, 1000.0, Step(350, 1035.0), Company(8))
    assert not times.note(1, 1000.0, Step(400, 1060.0), Company(8))
    assert times.note(1, 1000.0, Step(500, 1100.0), Company(8))
    assert [(each.together, each.lasted_s) for each in times.took] == [(2, 0.1), (8, 0.4)]


def test_as_long_as_starting_up_weighs_much_nothing_is_told_unless_the_number_of_steps_is_known() -> None:
    times = StepTimes()
    assert not run(times, 1, 4, 0.1, starts_s=60)
    times.ended(1, succeeded=True)  # 500 steps
    assert run(times, 2, 4, 0.1, starts_s=60)
    (took,) = times.took
    assert took.lasted_s == pytest.approx(0.1 + 60 / 500)


def test_a_run_that_continues_from_a_checkpoint_has_not_made_the_steps_before_it() -> None:
    times = StepTimes()
    times.note(1, None, Step(50_000, 1060.0), Company(4))
    times.note(1, None, Step(50_001, 1060.1), Company(4))
    assert times.note(1, None, Step(50_101, 1070.1), Company(4))
    assert times.took[0].lasted_s == pytest.approx(0.1)


def test_a_run_that_begins_again_is_counted_from_there() -> None:
    times = StepTimes()
    run(times, 1, 4, 0.1)
    assert not times.note(1, 1000.0, Step(1, 2000.0), Company(4))


def test_how_busy_the_cores_were_goes_along() -> None:
    times = StepTimes()
    times.note(1, 1000.0, Step(99, 1009.9), Company(4, 50.0, CoreTime(0.0, 0.0)))
    times.note(1, 1000.0, Step(100, 1010.0), Company(4, 50.0, CoreTime(10.0, 100.0)))
    times.note(1, 1000.0, Step(200, 1020.0), Company(4, 60.0, CoreTime(106.0, 200.0)))
    (took,) = times.took
    assert took.busy == 60.0
    assert took.cores_busy == pytest.approx(96.0)


def test_only_the_latest_are_remembered() -> None:
    times = StepTimes()
    for attempt in range(300):
        run(times, attempt, 4, 0.1, looks=3)
    assert len(times.took) == 256


def test_while_others_of_its_recipe_start_nothing_is_told() -> None:
    """They import, so it runs as if it were alone, and they would seem to cost nothing."""
    times = StepTimes()
    for number in range(4):
        step = Step(100 + 100 * number, 1010.0 + 10 * number)
        assert not times.note(1, 1000.0, step, Company(8, any_starts=True))
    assert not times.note(1, 1000.0, Step(420, 1050.0), Company(8))  # it may have been made while they started
    assert times.note(1, 1000.0, Step(440, 1060.0), Company(8))
    assert times.took[0].lasted_s == pytest.approx(0.5, rel=0.01)
