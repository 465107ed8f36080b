"""What every engine promises the loop. Each test is played on each engine; a new one is added to `HARNESSES`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Ended, Engine, Gone, NeverBegan, NotStarted, Started, Vanished
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.local.engine import LocalEngine
from tests.conftest import until
from tests.engines.harness import HARNESSES, Harness, Life, LocalHarness
from tests.engines.thread_engine import ThreadEngine


@pytest.fixture(params=list(HARNESSES))
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    harness = HARNESSES[request.param](tmp_path)
    yield harness
    harness.close()


@pytest.fixture(params=[name for name in HARNESSES if HARNESSES[name].outlives_its_host])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    """Only engines whose attempts outlive their host."""
    harness = HARNESSES[request.param](tmp_path)
    yield harness
    harness.close()


def types_agree(local: LocalEngine, dry: DryEngine, threads: ThreadEngine) -> list[Engine]:
    """For mypy: each is an engine, with all that the loop calls."""
    return [local, dry, threads]


def kinds(reports: list[object]) -> list[str]:
    return [type(report).__name__ for report in reports]


# -- starting and ending --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("does", "exit_code", "number"),
    [("exits with 0", 0, None), ("exits with 3", 3, None), ("dies of SIGSEGV", None, signal.SIGSEGV)],
)
def test_an_end_is_told_with_what_the_kernel_said(
    harness: Harness, does: str, exit_code: int | None, number: int | None
) -> None:
    def body(life: Life) -> None:
        before = life.now().wall
        attempt = life.start(does)
        end = life.wait_for(Ended, attempt)
        assert (end.exit_code, end.signal, end.leftovers) == (exit_code, number, ())
        assert before - 1 <= end.at <= life.now().wall + 1
        assert life.about(attempt)[-1] == end

    harness.life(body)


def test_a_start_is_told_before_the_end(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.start("runs")
        started = life.wait_for(Started, attempt)
        assert started.pid > 0
        assert started.process
        life.engine.stop(attempt, 2)
        life.wait_for(Ended, attempt)
        assert kinds([*life.about(attempt)]) == ["Started", "Ended"]

    harness.life(body)


def test_an_attempt_that_cannot_start_is_told_at_once_and_holds_up_nobody(harness: Harness) -> None:
    def body(life: Life) -> None:
        orders = [life.order("cannot start"), life.order("exits with 0")]
        life.engine.start(orders)
        refused = life.wait_for(NotStarted, orders[0].attempt)
        assert "No such file or directory" in refused.reason
        assert not refused.try_later
        assert life.wait_for(Ended, orders[1].attempt).exit_code == 0
        assert kinds([*life.about(orders[0].attempt)]) == ["NotStarted"]

    harness.life(body)


def test_what_it_prints_is_in_its_log(harness: Harness) -> None:
    def body(life: Life) -> str:
        attempt = life.start("prints")
        assert not life.wait_for(Ended, attempt).silent
        return attempt.log

    assert Path(harness.life(body)).read_text() == "hello\n"


def test_reports_never_wait_and_are_given_once(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.begin("runs")
        assert life.engine.reports() == []
        life.engine.settled()
        assert life.engine.reports() == []
        life.engine.stop(attempt, 2)
        life.wait_for(Ended, attempt)
        life.engine.settled()
        assert life.engine.reports() == []

    harness.life(body)


# -- signals --------------------------------------------------------------------------------------------------------


def test_the_first_step_asks_and_the_attempt_may_end_well(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.begin("ends well when asked")
        attempt.begin_stop(Outcome.KILLED, life.now().mono)
        life.engine.stop(attempt, 1)
        assert life.wait_for(Ended, attempt).exit_code == 0

    harness.life(body)


def test_the_second_step_ends_one_that_does_not_listen(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.begin("ignores SIGTERM")
        attempt.begin_stop(Outcome.KILLED, life.now().mono)
        life.engine.stop(attempt, 1)
        assert kinds([*life.about(attempt)]) == ["Started"]
        life.engine.stop(attempt, 2)
        assert life.wait_for(Ended, attempt).signal == signal.SIGKILL

    harness.life(body)


def test_a_notice_comes_to_those_who_listen_for_it(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.begin("waits for a signal")
        assert life.engine.notice(attempt, signal.SIGUSR1)
        assert life.wait_for(Ended, attempt).exit_code == 5
        assert not life.engine.notice(attempt, signal.SIGUSR1), "nobody is there any more"
        assert not life.engine.signal_all(attempt, signal.SIGINT)

    harness.life(body)


def test_an_attempt_that_is_suspended_and_goes_on_can_be_stopped(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.begin("runs")
        life.engine.signal_all(attempt, signal.SIGSTOP)
        life.engine.signal_all(attempt, signal.SIGCONT)
        life.engine.stop(attempt, 1)
        assert life.wait_for(Ended, attempt).signal == signal.SIGTERM

    harness.life(body)


def test_to_stop_one_that_has_ended_is_no_trouble(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.start("exits with 0")
        life.wait_for(Ended, attempt)
        life.engine.settled()
        for step in (1, 2):
            life.engine.stop(attempt, step)
        assert isinstance(life.about(attempt)[-1], Ended)

    harness.life(body)


# -- lining up ------------------------------------------------------------------------------------------------------


def test_one_that_is_lined_up_starts_when_the_one_before_it_is_gone(harness: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("exits with 0", follows=first)
        third = life.order("exits with 3", follows=second.attempt)
        life.engine.line_up(second)
        life.engine.line_up(third)
        assert life.engine.lined_up() == 2
        life.engine.stop(first, 2)
        assert life.wait_for(Ended, third.attempt).exit_code == 3
        ends = [report.attempt_id for report in life.seen if isinstance(report, Ended)]
        assert ends == [first.id, second.attempt.id, third.attempt.id]
        assert life.engine.lined_up() == 0

    harness.life(body)


def test_one_that_is_lined_up_behind_nobody_starts_at_once(harness: Harness) -> None:
    def body(life: Life) -> None:
        gone = life.start("exits with 0")
        life.wait_for(Ended, gone)
        late = life.order("exits with 3", follows=gone)
        life.engine.line_up(late)
        assert life.wait_for(Ended, late.attempt).exit_code == 3

    harness.life(body)


def test_one_that_is_lined_up_behind_nobody_begins_when_it_starts_not_when_that_was_decided(lasting: Harness) -> None:
    def body(life: Life) -> None:
        gone = life.start("exits with 0")
        late = life.order("exits with 3", follows=gone)
        life.wait_for(Ended, gone)
        before = life.now().mono
        life.engine.line_up(late)
        assert late.attempt.started.mono >= before

    lasting.life(body)


def test_one_that_stands_down_is_not_started(harness: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("exits with 0", follows=first)
        life.engine.line_up(second)
        assert life.engine.stand_down(second.attempt)
        assert life.engine.lined_up() == 0
        life.engine.stop(first, 2)
        life.wait_for(Ended, first)
        assert life.about(second.attempt) == []

    harness.life(body)


def test_an_end_is_told_before_what_became_of_the_one_behind_it(harness: Harness) -> None:
    """The loop gives the devices on in the order of the reports."""

    def body(life: Life) -> None:
        first = life.start("exits with 0")
        second = life.order("cannot start", follows=first)
        third = life.order("exits with 3", follows=second.attempt)
        life.engine.line_up(second)
        life.engine.line_up(third)
        life.wait_for(Ended, third.attempt)
        told = [report.attempt_id for report in life.seen if isinstance(report, (Ended, NotStarted))]
        assert told == [first.id, second.attempt.id, third.attempt.id]

    harness.life(body)


def test_the_next_in_line_starts_while_the_loop_writes(tmp_path: Path) -> None:
    """Only where the loop's time is real: on the other engines nothing ends while it writes."""
    harness = LocalHarness(tmp_path)

    def body(life: Life) -> None:
        first = life.start("exits with 0")
        second = life.order("prints", follows=first)
        life.engine.line_up(second)
        printed = Path(second.attempt.log)

        def has_printed() -> bool:
            life.engine.follow_up()
            return printed.exists() and printed.read_text() == "hello\n"

        until(has_printed, "its word")
        life.engine.settled()  # the loop has written what it knew before
        assert first.pid is not None
        assert os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "its end is not on disk yet"
        assert life.wait_for(Ended, first).exit_code == 0
        assert life.wait_for(Ended, second.attempt).exit_code == 0

    harness.life(body)
    harness.close()


def test_one_that_has_begun_cannot_stand_down(harness: Harness) -> None:
    def body(life: Life) -> None:
        first = life.start("exits with 0")
        second = life.order("exits with 0", follows=first)
        life.engine.line_up(second)
        life.wait_for(Ended, second.attempt)
        assert not life.engine.stand_down(second.attempt)

    harness.life(body)


# -- what is left behind --------------------------------------------------------------------------------------------


def test_what_an_attempt_leaves_is_told_and_its_devices_are_free_when_it_is_gone(harness: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.start("leaves a helper")
        end = life.wait_for(Ended, attempt)
        assert end.exit_code == 0
        if end.leftovers:  # an engine may also end them itself
            assert not any(isinstance(report, Gone) for report in life.about(attempt))
            life.engine.stop(attempt, 2)
            life.wait_for(Gone, attempt)

    harness.life(body)


# -- adopting -------------------------------------------------------------------------------------------------------


def adopt(life: Life, attempt: LiveAttempt, rebooted: bool = False) -> LiveAttempt:
    """As the next host does, by what the database has of it."""
    attempt.has_process(None)
    life.engine.adopt([attempt], rebooted)
    return attempt


def begun(life: Life) -> LiveAttempt:
    return life.begin("ends well when asked")


def test_an_attempt_outlives_its_host_and_its_end_is_told_to_the_next(harness: Harness) -> None:
    attempt = harness.life(begun)

    def body(life: Life) -> None:
        adopt(life, attempt)
        if not harness.outlives_its_host:
            assert isinstance(life.wait_for(Vanished, attempt), Vanished)
            return
        life.engine.stop(attempt, 1)
        assert life.wait_for(Ended, attempt).exit_code == 0

    harness.life(body)


def test_the_end_that_came_while_there_was_no_host_is_told_to_the_next(lasting: Harness) -> None:
    attempt = lasting.life(lambda life: life.start("exits with 3"))

    def body(life: Life) -> None:
        adopt(life, attempt)
        assert life.wait_for(Ended, attempt).exit_code == 3

    lasting.life(body)


def test_one_whose_start_was_recorded_and_not_made_never_began(lasting: Harness) -> None:
    attempt = lasting.life(lambda life: life.order("exits with 0").attempt)

    def body(life: Life) -> None:
        adopt(life, attempt)
        assert kinds([life.wait_for(NeverBegan, attempt)]) == ["NeverBegan"]

    lasting.life(body)


def test_after_a_reboot_nobody_knows_how_it_ended(harness: Harness) -> None:
    attempt = harness.life(begun)

    def body(life: Life) -> None:
        adopt(life, attempt, rebooted=True)
        life.wait_for(Vanished, attempt)

    harness.life(body)


def test_one_that_was_lined_up_when_its_host_died_never_began(lasting: Harness) -> None:
    def first_life(life: Life) -> tuple[LiveAttempt, LiveAttempt]:
        first = begun(life)
        order = life.order("exits with 0", follows=first)
        life.engine.line_up(order)
        return first, order.attempt

    first, second = lasting.life(first_life)

    def body(life: Life) -> None:
        life.engine.adopt([first, second], rebooted=False)
        life.wait_for(NeverBegan, second)
        life.engine.stop(first, 1)
        assert life.wait_for(Ended, first).exit_code == 0

    lasting.life(body)


# -- what else the loop asks ----------------------------------------------------------------------------------------


def test_each_life_has_a_keeper_of_its_own(harness: Harness) -> None:
    lives = [harness.life(lambda life: life.engine.keeper) for _ in range(2)]
    assert all(lives)
    assert len(set(lives)) == (2 if harness.outlives_its_host else 1)


def test_whose_a_process_is_is_known_while_it_lives(lasting: Harness) -> None:
    def body(life: Life) -> None:
        attempt = life.start("runs")
        started = life.wait_for(Started, attempt)
        assert life.engine.owners_of([started.pid], [attempt]) == {started.pid: attempt.id}
        assert life.engine.owners_of([started.pid], []) != {started.pid: attempt.id}
        life.engine.stop(attempt, 2)
        life.wait_for(Ended, attempt)

    lasting.life(body)
