"""What a job uses over its time: foretold by the same command, with room for being faster or slower."""

from __future__ import annotations

import math

import pytest

from duckrow.core.devices.needs import with_margin
from duckrow.core.memory.course import (
    SLACK,
    Course,
    MemoryForecast,
    PacedForecast,
    Slack,
    Tenancy,
    agreed,
    course_of,
    differing,
    most_needed_mb,
    slack_of,
)

LATE = Course(((0.0, 0), (10.0, 2000), (60.0, 10_000)), 100.0)  # it takes most of its memory in its second half
ROOM_MB = 13_000
EXACT = Slack(1.05, 1.05)


def running(age_s: float, used_mb: int, grown_s: float | None = None, course: Course | None = LATE) -> Tenancy:
    return Tenancy(course, age_s, with_margin(10_000, is_same=True), used_mb, grown_s)


def fits(*tenancies: Tenancy, slack: Slack = SLACK) -> bool:
    return MemoryForecast.of(tenancies).has_room(LATE, ROOM_MB, slack)


def test_a_curve_becomes_steps_and_between_two_readings_the_larger_counts() -> None:
    curve = [(1.0, 0, 0), (2.0, 500, 90), (3.0, 490, 90), (4.0, 500, 90), (5.0, 2000, 90), (6.0, 2000, 90)]
    assert course_of(curve) == Course(((0.0, 0), (1.0, 500), (4.0, 2000)), 6.0)
    assert course_of(curve[:2]) is None


def test_nothing_is_used_after_the_end_and_the_most_counts_before() -> None:
    assert (LATE.most_mb(0, 5), LATE.most_mb(5, 70), LATE.most_mb(70, 200), LATE.most_mb(100, 200)) == (
        0,
        10_000,
        10_000,
        0,
    )


def test_one_that_grows_late_starts_beside_one_that_ends_before() -> None:
    assert not fits(running(20.0, 2000, 10.0))
    assert fits(running(90.0, 10_000, 60.0))


def test_the_last_growth_tells_how_far_a_run_has_come() -> None:
    """At the same age, one has just begun with its last part and the other is nearly done."""
    assert fits(running(90.0, 10_000, grown_s=62.0))
    assert not fits(running(90.0, 10_000, grown_s=89.0))


def test_one_that_has_overrun_its_time_or_takes_more_than_before_may_stay_for_ever() -> None:
    overrun, larger = running(200.0, 10_000, 60.0), running(95.0, 11_500, 60.0)
    assert not overrun.is_as_foreseen
    assert not larger.is_as_foreseen
    assert overrun.most_mb(1000, math.inf) == with_margin(10_000, is_same=True)
    assert not fits(overrun)
    assert not fits(larger)


def test_one_that_has_not_grown_when_it_should_have_is_not_as_foreseen() -> None:
    assert running(70.0, 2000, 10.0).is_as_foreseen
    assert not running(95.0, 2000, 10.0).is_as_foreseen


def test_beside_one_of_which_nothing_is_known_there_must_be_room_for_its_peak() -> None:
    assert not fits(running(95.0, 10_000, 60.0, course=None))
    assert fits(Tenancy(None, 5.0, 1000, 500))


def test_two_that_will_both_have_grown_do_not_fit() -> None:
    assert not fits(running(90.0, 10_000, 60.0), running(5.0, 0))


def test_runs_of_such_different_lengths_foretell_nothing() -> None:
    other = LATE._replace(lasted_s=140.0)
    assert agreed([LATE, LATE._replace(lasted_s=110.0)]) is LATE
    assert agreed([LATE, other]) is None
    assert agreed([]) is None


def test_the_more_exactly_runs_keep_to_their_course_the_less_is_left_for_surprises() -> None:
    assert slack_of([0.0, 0.0]) == SLACK
    assert slack_of([0.0, 0.01, -0.01]) == EXACT
    assert slack_of([0.0, 0.25, 0.125]) == Slack(1.5, 1.05)
    assert slack_of([0.0, -0.25, 0.125]) == Slack(1.25, 1.5)
    late = running(75.0, 10_000, 60.0)
    assert fits(late._replace(slack=EXACT), slack=EXACT)
    assert not fits(late._replace(slack=Slack(1.5, 1.5)), slack=Slack(1.5, 1.5))


def test_what_slows_down_all_runs_alike_keeps_nobody_from_starting() -> None:
    """If the one that runs ended later and the one that comes grew sooner, they would meet: not if both are slower."""
    assert not fits(running(62.0, 10_000, 60.0))
    assert PacedForecast.of([running(62.0, 10_000, 60.0)]).has_room(LATE, ROOM_MB)
    assert not PacedForecast.of([running(50.0, 2000, 10.0)]).has_room(LATE, ROOM_MB)  # they meet at any pace


def test_a_pace_that_what_was_seen_contradicts_does_not_count() -> None:
    """It should have grown by now if it were that fast."""
    assert [pace for pace, _ in PacedForecast.of([running(50.0, 2000, 10.0)]).of_all] == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert [pace for pace, _ in PacedForecast.of([running(58.0, 2000, 10.0)]).of_all] == [-1.0, -0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(running(200.0, 10_000, 60.0), id="overran its time"),
        pytest.param(running(72.0, 2000, 10.0), id="has not grown"),
        pytest.param(running(91.0, 10_000, 90.0), id="grew late"),
    ],
)
def test_beside_one_that_has_a_pace_of_its_own_each_counts_with_the_worst(one: Tenancy) -> None:
    paced = PacedForecast.of([running(50.0, 2000, 10.0), one])
    assert paced.of_all == ()


def test_a_plan_counts_on_a_bit_less_than_is_asked_for_when_a_job_is_to_start() -> None:
    """Otherwise what was planned would not start when it is due."""
    assert SLACK.at(0.0).slower < SLACK.planned.slower < SLACK.slower
    assert SLACK.at(0.0).faster < SLACK.planned.faster < SLACK.faster
    assert EXACT.planned == EXACT.at(0.0) == EXACT


def test_runs_that_are_only_ever_faster_are_not_waited_for_any_longer() -> None:
    """The one that runs may be faster, and ends all the sooner; the one that comes may be faster, and grows sooner."""
    late, faster = running(75.0, 10_000, 60.0), Slack(1.05, 1.4)
    assert fits(late._replace(slack=faster), slack=EXACT)
    assert not fits(late._replace(slack=Slack(2.0, 1.05)), slack=EXACT)
    assert not fits(running(65.0, 10_000, 60.0)._replace(slack=faster), slack=Slack(1.05, 1.8))


def test_the_more_runs_were_seen_the_less_may_still_happen() -> None:
    assert [slack_of([0.25] * runs).slower for runs in (3, 6, 12)] == [1.5, 1.375, 1.3125]


def test_what_is_seen_late_is_not_slower_but_what_is_seen_early_is_faster() -> None:
    assert differing(10.5, 10.0) == 0.0
    assert differing(12.6, 10.0) == pytest.approx(0.2)
    assert differing(12.2, 10.0, readings=2) == pytest.approx(0.1)
    assert differing(7.0, 10.0) == differing(7.0, 10.0, readings=2) == -0.3


def test_those_that_end_soon_give_back_what_others_need() -> None:
    ending = running(99.0, 10_000, 60.0)._replace(slack=EXACT)
    about_to_grow = running(59.0, 2000, 10.0)._replace(slack=EXACT)
    assert most_needed_mb([about_to_grow], 5.0) == 8000
    assert most_needed_mb([about_to_grow._replace(age_s=20.0)], 5.0) == 0
    assert most_needed_mb([ending], 60.0) == 0
    grows_later = running(50.0, 2000, 10.0)._replace(slack=EXACT)
    assert most_needed_mb([grows_later], 12.0) == 8000
    assert most_needed_mb([grows_later, ending], 12.0) == 0
    assert most_needed_mb([], 5.0) == 0


def test_one_that_is_unknown_or_takes_more_than_before_may_need_all_that_it_has_reserved() -> None:
    assert most_needed_mb([Tenancy(None, 5.0, 9000, 2000)], 5.0) == 7000
    assert most_needed_mb([Tenancy(LATE, 30.0, 20_000, 4000)], 5.0) == 16_000


def test_one_that_is_late_may_grow_now_and_one_that_has_overrun_gives_nothing_back() -> None:
    late = running(80.0, 2000, 10.0)
    assert not late._replace(slack=EXACT).is_as_foreseen
    assert most_needed_mb([late], 1.0) == 8000
    overrun = running(200.0, 10_000, 60.0)
    assert overrun.more_mb(0.0, 60.0) == 0
    assert running(99.0, 10_000, 60.0).more_mb(5.0, 60.0) == -10_000
