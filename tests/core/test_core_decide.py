"""One tick over running attempts: time limits, notices, the kill ladder, when to wake, and who follows whom."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.decide import (
    BRISK_S,
    LONGEST_LINE,
    Decision,
    Notice,
    Start,
    Stop,
    choose_successors,
    decide,
    line_length,
)
from duckrow.core.inventory import WHOLE
from duckrow.core.job import LiveAttempt, QueuedJob
from duckrow.core.lifecycle import Outcome
from tests.core.language import attempt, gpus, job


class Told(NamedTuple):
    """A decision as something that can be compared."""

    starts: list[Start] = []
    notices: list[Notice] = []
    stops: list[Stop] = []
    wake_at: float | None = None


def told(decision: Decision) -> Told:
    return Told(decision.starts, decision.notices, decision.stops, decision.wake_at)


def decided(now: float, *live: LiveAttempt) -> Told:
    return told(decide(now, live, [], gpus(1), {}))


def test_an_attempt_without_a_limit_is_left_alone() -> None:
    assert decided(1e9, attempt(job())) == Told()


def test_an_attempt_within_its_limit_only_says_when_to_wake() -> None:
    limited = attempt(job(timeout_s=100.0, notice_signal=None), started_at=1000.0)
    assert decided(1050.0, limited) == Told(wake_at=1100.0)


@pytest.mark.parametrize("now", [1100.0, 1100.1, 5000.0])
def test_an_attempt_over_its_limit_is_asked_to_end(now: float) -> None:
    late = attempt(job(timeout_s=100.0, grace_s=7.0), started_at=1000.0)
    assert decided(now, late) == Told(stops=[Stop(late, 1, Outcome.TIMED_OUT)], wake_at=now + 7.0)


def test_the_notice_comes_ahead_of_the_limit() -> None:
    warned = attempt(job(timeout_s=100.0, notice_s=30.0), started_at=1000.0)
    assert decided(1069.0, warned) == Told(wake_at=1070.0)
    assert decided(1070.0, warned) == Told(notices=[Notice(warned)], wake_at=1100.0)


def test_the_notice_comes_once() -> None:
    warned = attempt(job(timeout_s=100.0), started_at=1000.0, noticed=True)
    assert decided(1080.0, warned) == Told(wake_at=1100.0)


def test_a_limit_shorter_than_the_notice_is_announced_half_way() -> None:
    short = attempt(job(timeout_s=20.0, notice_s=30.0), started_at=1000.0)
    assert decided(1005.0, short) == Told(wake_at=1010.0)
    assert decided(1010.0, short).notices == [Notice(short)]


def test_no_notice_is_given_to_whom_wants_none() -> None:
    silent = attempt(job(timeout_s=100.0, notice_signal=None), started_at=1000.0)
    assert decided(1099.0, silent) == Told(wake_at=1100.0)


def test_no_notice_is_given_after_the_limit() -> None:
    late = attempt(job(timeout_s=100.0), started_at=1000.0)
    assert decided(1100.0, late).notices == []


def test_the_ladder_begins_with_a_request() -> None:
    doomed = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED)
    assert decided(2001.0, doomed) == Told(stops=[Stop(doomed, 1, Outcome.KILLED)], wake_at=2006.0)


def test_the_ladder_waits_for_the_grace() -> None:
    asked = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED, stop_step=1)
    assert decided(2004.9, asked) == Told(wake_at=2005.0)


def test_the_ladder_ends_with_force() -> None:
    asked = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.TIMED_OUT, stop_step=1)
    assert decided(2005.0, asked) == Told(stops=[Stop(asked, 2, Outcome.TIMED_OUT)])


def test_nothing_comes_after_force() -> None:
    forced = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED, stop_step=2)
    assert decided(9999.0, forced) == Told()


def test_a_grace_of_nothing_forces_at_the_next_look() -> None:
    doomed = attempt(job(grace_s=0.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED)
    assert decided(2000.0, doomed).wake_at == 2000.0
    doomed.stop_step = 1
    assert decided(2000.0, doomed).stops == [Stop(doomed, 2, Outcome.KILLED)]


def test_leftovers_are_cleared_without_a_reason_of_ours() -> None:
    left = attempt(job(), stop_began_at=2000.0, exit_code=0)
    assert decided(2000.0, left).stops == [Stop(left, 1, None)]


def test_an_attempt_that_is_being_stopped_is_not_stopped_for_its_limit_too() -> None:
    both = attempt(job(timeout_s=10.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED, stop_step=2)
    assert decided(9999.0, both) == Told()


def test_the_wake_up_is_for_whoever_is_first() -> None:
    limited = [
        attempt(job(id=number, timeout_s=limit_s, notice_signal=None), started_at=1000.0)
        for number, limit_s in enumerate((300.0, 100.0, 200.0))
    ]
    asked = attempt(job(id=9, grace_s=60.0), stop_began_at=1000.0, stop_step=1)
    assert decided(1000.0, *limited).wake_at == 1100.0
    assert decided(1000.0, *limited, asked).wake_at == 1060.0


def test_one_tick_starts_warns_and_stops() -> None:
    late = attempt(job(id=1, timeout_s=10.0), started_at=1000.0)
    warned = attempt(job(id=2, timeout_s=60.0), started_at=1000.0)
    waiting = job(id=5)
    decision = decide(1040.0, [late, warned], [waiting], gpus(2), {"0": WHOLE})
    assert told(decision) == Told(
        starts=[Start(waiting, (("1", WHOLE),))],
        notices=[Notice(warned)],
        stops=[Stop(late, 1, Outcome.TIMED_OUT)],
        wake_at=1050.0,
    )


def test_deciding_changes_no_attempt() -> None:
    late = attempt(job(timeout_s=10.0), started_at=1000.0)
    before = repr(late)
    decided(2000.0, late)
    assert repr(late) == before


def test_an_attempt_that_is_lined_up_has_no_limit_yet() -> None:
    lined_up = attempt(job(id=2, timeout_s=10.0), started_at=1000.0, follows=attempt(job(id=1)).id)
    assert decided(9999.0, lined_up) == Told()


# -- who follows whom -----------------------------------------------------------------------------------------------


def running(*gpus: int | None) -> list[LiveAttempt]:
    """Attempts of jobs 1, 2, ... that asked for so many GPUs."""
    return [attempt(job(count, id=number)) for number, count in enumerate(gpus, start=1)]


def waiting(*gpus: int | None) -> list[QueuedJob]:
    """Jobs 101, 102, ... that ask for so many GPUs."""
    return [job(count, id=number) for number, count in enumerate(gpus, start=101)]


def followers(tails: list[LiveAttempt], queue: list[QueuedJob], room: int = 99) -> list[tuple[int, int]]:
    """(job at the end of a line, job that comes behind it) of each that is lined up."""
    return [(tail.job.id, job.id) for tail, job in choose_successors(tails, queue, room)]


def test_a_job_follows_the_attempt_itself() -> None:
    (tail,), (waits,) = running(2), waiting(2)
    ((followed, follows),) = choose_successors([tail], [waits], 1)
    assert followed is tail
    assert follows is waits


def test_jobs_follow_the_attempts_in_turn_and_in_the_order_of_the_queue() -> None:
    queue = waiting(*[None] * 5)
    assert followers(running(None, None), queue) == [(1, 101), (2, 102), (1, 103), (2, 104), (1, 105)]
    assert followers(running(None, None, None), queue[:2]) == [(1, 101), (2, 102)]


@pytest.mark.parametrize(
    "room",
    [-1, 0, 1, 2, 3],
)
def test_no_more_are_lined_up_than_there_is_room(room: int) -> None:
    all_of_them = [(1, 101), (2, 102), (1, 103)]
    assert followers(running(None, None), waiting(None, None, None), room) == all_of_them[: max(room, 0)]


def test_without_attempts_or_jobs_nobody_follows() -> None:
    assert followers([], waiting(None)) == []
    assert followers(running(None), []) == []


@pytest.mark.parametrize(("runs", "waits"), [(None, 0), (None, 1), (0, None), (1, None), (1, 2), (2, 1), (0, 1)])
def test_a_job_that_asks_for_something_else_does_not_follow(runs: int | None, waits: int | None) -> None:
    assert followers(running(runs), waiting(waits)) == []
    assert followers(running(waits), waiting(waits)) == [(1, 101)]


def test_nobody_overtakes_a_job_that_cannot_follow() -> None:
    assert followers(running(1, 1, 2), waiting(1, 2, 1)) == [(1, 101)]
    assert followers(running(1, 1, 2), waiting(2, 1, 1)) == []


def test_lining_up_changes_neither_attempts_nor_queue() -> None:
    live, queue = running(None, None), waiting(None, None)
    before = repr((live, queue))
    choose_successors(live, queue, 2)
    assert repr((live, queue)) == before


@pytest.mark.parametrize(
    ("pace_s", "length"),
    [(1.0, 0), (0.0201, 0), (0.02, 1), (0.0101, 1), (0.01, 2), (0.002, 10), (0.001, 16), (0.0, 16)],
)
def test_the_shorter_jobs_are_the_more_are_lined_up_up_to_a_limit(pace_s: float, length: int) -> None:
    assert line_length(pace_s) == length


@given(st.floats(0, 10))
def test_no_more_work_is_lined_up_than_takes_a_moment(pace_s: float) -> None:
    assert line_length(pace_s) <= LONGEST_LINE
    assert line_length(pace_s) * pace_s <= BRISK_S * 1.001
