"""The moves of an attempt that is live."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.device import reservations
from duckrow.core.jobs.attempt import Exit, FirstProcess, Stop
from duckrow.core.life.states import Outcome, State
from tests.core.language import attempt, job


def test_a_time_limit_stands_still_while_an_attempt_is_suspended() -> None:
    paused = attempt(job(timeout_s=100.0), started_mono=1000.0)
    assert paused.deadline_mono == 1100.0
    paused.suspend(1010.0)
    paused.suspend(1020.0)
    assert [paused.deadline_mono] == [None]
    paused.resume(1040.0)
    assert paused.deadline_mono == 1130.0
    paused.resume(1090.0)
    assert paused.deadline_mono == 1130.0, "it was not suspended"


def test_one_that_is_hurried_has_no_grace_left() -> None:
    slow = attempt(job(grace_s=10.0))
    slow.begin_stop(Outcome.KILLED, 2000.0)
    slow.take_step(1)
    slow.hurry(2003.0)
    assert slow.stop == Stop(Outcome.KILLED, 1993.0, 1)


def test_one_that_was_killed_is_neither_asked_again_nor_hurried() -> None:
    killed = attempt(job(grace_s=10.0))
    killed.begin_stop(Outcome.KILLED, 2000.0)
    killed.take_step(2)
    killed.ask_again()
    killed.hurry(2003.0)
    assert killed.stop == Stop(Outcome.KILLED, 2000.0, 2)


def test_one_that_could_not_hear_it_is_asked_again() -> None:
    deaf = attempt()
    deaf.begin_stop(Outcome.KILLED, 2000.0)
    deaf.take_step(1)
    deaf.ask_again()
    assert deaf.stop == Stop(Outcome.KILLED, 2000.0)


def test_one_that_nobody_stops_takes_no_step_of_stopping() -> None:
    left_alone = attempt()
    left_alone.take_step(1)
    left_alone.ask_again()
    left_alone.hurry(2003.0)
    assert left_alone.stop is None


def test_one_that_is_stopped_for_another_reason_is_not_asked_twice() -> None:
    late = attempt()
    late.begin_stop(Outcome.TIMED_OUT, 2000.0)
    late.take_step(1)
    late.begin_stop(Outcome.KILLED, 2003.0)
    assert late.stop == Stop(Outcome.KILLED, 2003.0, 1)


def test_what_an_attempt_left_behind_is_known_until_it_is_over() -> None:
    ended = attempt()
    ended.note_exit(Exit(0))
    ended.stop_leftovers("it left a helper", 2000.0)
    assert (ended.stopped_for, ended.left_behind) == (None, "it left a helper")
    ended.begin_stop(Outcome.KILLED, 2001.0)
    assert (ended.stopped_for, ended.left_behind) == (Outcome.KILLED, "it left a helper")


def test_an_attempt_has_no_exit_before_its_process_has_ended() -> None:
    runs = attempt()
    assert (runs.end, runs.exit_code, runs.signal) == (None, None, None)
    runs.note_exit(Exit(None, 9, 1234.5))
    assert (runs.exit_code, runs.signal) == (None, 9)


def test_an_attempt_that_is_lost_has_no_exit() -> None:
    gone = attempt()
    gone.note_loss("the machine was restarted")
    assert (gone.exit_code, gone.signal, gone.lost_because) == (None, None, "the machine was restarted")


def test_an_end_that_somebody_saw_is_not_lost() -> None:
    seen = attempt()
    seen.note_exit(Exit(0))
    seen.note_loss("its process ended while no scheduler was watching")
    assert (seen.exit_code, seen.lost_because) == (0, "")


def test_a_process_is_named_for_good_once_it_was_seen() -> None:
    runs = attempt()
    runs.has_process(42)
    assert runs.first == FirstProcess(42)
    runs.has_process(42, "42:7:boot")
    runs.has_process(None)
    assert runs.first == FirstProcess(None, "42:7:boot")


def test_an_attempt_of_which_no_process_is_known_has_none() -> None:
    adopted = attempt()
    adopted.has_process(42)
    adopted.has_process(None)
    assert adopted.first is None


def test_what_was_not_written_is_undone() -> None:
    written = attempt(holds=(("0", 500_000),))
    ours = attempt(holds=(("0", 500_000),))
    ours.move_to(State.STOPPING)
    ours.begin_stop(Outcome.KILLED, 2000.0)
    ours.hold(reservations([("0", 250_000)]))
    ours.suspend(1500.0)
    ours.begin(Now(1.0, 2.0, 3.0))
    ours.go_back(written)
    assert ours == written


def test_a_signal_that_was_sent_stays_sent_when_a_tick_is_undone() -> None:
    written, ours = attempt(), attempt()
    for each in (written, ours):
        each.begin_stop(Outcome.TIMED_OUT, 2000.0)
    ours.take_step(1)
    ours.begin_stop(Outcome.KILLED, 2005.0)
    ours.go_back(written)
    assert ours.stop == Stop(Outcome.TIMED_OUT, 2000.0, 1)
