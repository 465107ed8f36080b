"""When jobs start whose memory grows: some wait though there is room, and all end sooner."""

from __future__ import annotations

from random import Random

from duckrow.core.devices.needs import with_margin
from duckrow.core.memory.course import Course, Slack, Tenancy
from duckrow.core.memory.start_plan import GrowingJob, StartPlan, plan_starts

ROOM_MB = 20_000
EXACT = Slack(1.05, 1.05)


def growing(peak_mb: int, stairs: int = 4, lasted_s: float = 80.0) -> Course:
    """Nothing for a fifth of its time, then equal stairs."""
    begins_s = 0.2 * lasted_s
    stair_s = (lasted_s - begins_s) / stairs
    steps = [(begins_s + number * stair_s, peak_mb * (number + 1) // stairs) for number in range(stairs)]
    return Course(((0.0, 0), *steps), lasted_s)


def comers(*courses: Course) -> list[GrowingJob]:
    return [GrowingJob(number, course, EXACT) for number, course in enumerate(courses)]


def most_used_mb(waiting: list[GrowingJob], plan: StartPlan) -> int:
    """If each run does exactly what the same command did."""
    uses = [(plan.starts_s[comer.id], comer.course) for comer in waiting]
    moments = [at / 4 for at in range(int(4 * plan.ends_s) + 1)]
    return max(sum(course.most_mb(at - began, at - began) for began, course in uses if at >= began) for at in moments)


def test_runs_that_reach_their_peaks_together_are_spread_and_all_end_sooner() -> None:
    """Two fit at a time, so three would take as long as two waves, 160 s."""
    waiting = comers(*[growing(9000)] * 3)
    plan = plan_starts([], waiting, ROOM_MB)
    assert plan is not None
    assert plan.ends_s < 130
    assert most_used_mb(waiting, plan) <= ROOM_MB


def test_one_waits_though_there_is_room_for_it() -> None:
    """The first two and the last two share the memory level; three at once would keep one of them until the end."""
    waiting = comers(*[growing(6400)] * 4)
    plan = plan_starts([], waiting, ROOM_MB)
    assert plan is not None
    assert sum(at == 0 for at in plan.starts_s.values()) < 3
    assert 3 * with_margin(6400, is_same=True) <= ROOM_MB


def test_where_all_fit_together_nobody_waits() -> None:
    assert plan_starts([], comers(*[growing(4000)] * 4), ROOM_MB) is None


def test_where_memory_is_taken_at_once_nobody_waits_longer_than_for_room() -> None:
    flat = Course(((0.0, 9000),), 80.0)
    assert plan_starts([], comers(*[flat] * 3), ROOM_MB) is None


def test_one_that_never_fits_has_no_plan() -> None:
    assert plan_starts([], comers(growing(9000), growing(30_000)), ROOM_MB) is None


def test_beside_one_whose_end_nobody_knows_the_rest_of_the_memory_is_planned() -> None:
    stays = Tenancy(None, 5.0, 10_000, 10_000)
    waiting = comers(*[growing(4600)] * 3)
    plan = plan_starts([stays], waiting, ROOM_MB)
    assert plan is not None
    assert most_used_mb(waiting, plan) <= ROOM_MB - 10_000
    assert plan_starts([stays], comers(growing(12_000)), ROOM_MB) is None


def test_whatever_the_runs_all_fit_at_every_moment_and_end_as_planned() -> None:
    planned = 0
    for seed in range(12):
        random = Random(seed)
        stairs, lasted_s = random.randint(3, 7), random.uniform(15, 300)
        waiting = comers(*[growing(random.randint(1000, 9000), stairs, lasted_s) for _ in range(random.randint(4, 9))])
        plan = plan_starts([], waiting, ROOM_MB)
        if plan is None:
            continue
        planned += 1
        assert plan == plan_starts([], waiting, ROOM_MB)
        assert plan.starts_s.keys() == {comer.id for comer in waiting}
        assert max(plan.starts_s.values()) + lasted_s <= plan.ends_s + 0.001
        assert most_used_mb(waiting, plan) <= ROOM_MB
    assert planned > 3
