"""The moves of an attempt that is live."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.device import reservations
from duckrow.core.jobs.job import Exit
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
    assert (slow.stop_step, slow.stop_began_mono) == (1, 1993.0)


def test_one_that_was_killed_is_neither_asked_again_nor_hurried() -> None:
    killed = attempt(job(grace_s=10.0))
    killed.begin_stop(Outcome.KILLED, 2000.0)
    killed.take_step(2)
    killed.ask_again()
    killed.hurry(2003.0)
    assert (killed.stop_step, killed.stop_began_mono) == (2, 2000.0)


def test_one_that_could_not_hear_it_is_asked_again() -> None:
    deaf = attempt()
    deaf.take_step(1)
    deaf.ask_again()
    assert deaf.stop_step == 0


def test_an_attempt_has_no_exit_before_its_process_has_ended() -> None:
    runs = attempt()
    assert (runs.exit, runs.exit_code, runs.signal) == (None, None, None)
    runs.note_exit(Exit(None, 9, 1234.5))
    assert (runs.exit_code, runs.signal) == (None, 9)


def test_a_process_is_named_for_good_once_it_was_seen() -> None:
    runs = attempt()
    runs.has_process(42)
    assert (runs.pid, runs.process) == (42, "")
    runs.has_process(42, "42:7:boot")
    runs.has_process(None)
    assert (runs.pid, runs.process) == (None, "42:7:boot")


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
