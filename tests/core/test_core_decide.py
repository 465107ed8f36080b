"""One tick over running attempts: time limits, notices, the kill ladder, and when to wake."""

from __future__ import annotations

import pytest

from duckrow.core.decide import Decision, Notice, Start, Stop, decide
from duckrow.core.inventory import WHOLE
from duckrow.core.job import LiveAttempt
from duckrow.core.lifecycle import Outcome
from tests.core.language import attempt, gpus, job


def decided(now: float, *live: LiveAttempt) -> Decision:
    return decide(now, live, [], gpus(1), {})


def test_an_attempt_without_a_limit_is_left_alone() -> None:
    assert decided(1e9, attempt(job())) == Decision()


def test_an_attempt_within_its_limit_only_says_when_to_wake() -> None:
    limited = attempt(job(timeout_s=100.0, notice_signal=None), started_at=1000.0)
    assert decided(1050.0, limited) == Decision(wake_at=1100.0)


@pytest.mark.parametrize("now", [1100.0, 1100.1, 5000.0])
def test_an_attempt_over_its_limit_is_asked_to_end(now: float) -> None:
    late = attempt(job(timeout_s=100.0, grace_s=7.0), started_at=1000.0)
    assert decided(now, late) == Decision(stops=[Stop(late, 1, Outcome.TIMED_OUT)], wake_at=now + 7.0)


def test_the_notice_comes_ahead_of_the_limit() -> None:
    warned = attempt(job(timeout_s=100.0, notice_s=30.0), started_at=1000.0)
    assert decided(1069.0, warned) == Decision(wake_at=1070.0)
    assert decided(1070.0, warned) == Decision(notices=[Notice(warned)], wake_at=1100.0)


def test_the_notice_comes_once() -> None:
    warned = attempt(job(timeout_s=100.0), started_at=1000.0, noticed=True)
    assert decided(1080.0, warned) == Decision(wake_at=1100.0)


def test_a_limit_shorter_than_the_notice_is_announced_half_way() -> None:
    short = attempt(job(timeout_s=20.0, notice_s=30.0), started_at=1000.0)
    assert decided(1005.0, short) == Decision(wake_at=1010.0)
    assert decided(1010.0, short).notices == [Notice(short)]


def test_no_notice_is_given_to_whom_wants_none() -> None:
    silent = attempt(job(timeout_s=100.0, notice_signal=None), started_at=1000.0)
    assert decided(1099.0, silent) == Decision(wake_at=1100.0)


def test_no_notice_is_given_after_the_limit() -> None:
    late = attempt(job(timeout_s=100.0), started_at=1000.0)
    assert decided(1100.0, late).notices == []


def test_the_ladder_begins_with_a_request() -> None:
    doomed = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED)
    assert decided(2001.0, doomed) == Decision(stops=[Stop(doomed, 1, Outcome.KILLED)], wake_at=2006.0)


def test_the_ladder_waits_for_the_grace() -> None:
    asked = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED, stop_step=1)
    assert decided(2004.9, asked) == Decision(wake_at=2005.0)


def test_the_ladder_ends_with_force() -> None:
    asked = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.TIMED_OUT, stop_step=1)
    assert decided(2005.0, asked) == Decision(stops=[Stop(asked, 2, Outcome.TIMED_OUT)])


def test_nothing_comes_after_force() -> None:
    forced = attempt(job(grace_s=5.0), stop_began_at=2000.0, stopped_for=Outcome.KILLED, stop_step=2)
    assert decided(9999.0, forced) == Decision()


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
    assert decided(9999.0, both) == Decision()


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
    assert decision == Decision(
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
