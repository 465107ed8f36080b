"""Starters: a line of short jobs is worked through beside the host, and whatever dies meanwhile, each job runs once."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Ended, Gone, NeverBegan, NotStarted, Started, StartOrder
from duckrow.engines.local.keeper.journal import JournalWriter, read_journal
from duckrow.engines.local.keeper.write_lock import WriteLock
from duckrow.engines.local.processes.children import Children
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters import starter as starter_module
from duckrow.engines.local.starters import starters as starters_module
from duckrow.engines.local.starters.order_message import LONGEST_MESSAGE
from duckrow.engines.local.starters.starter_link import StarterLink
from duckrow.kernel.process import children_of, identity_of, is_alive, read_process
from tests.conftest import until
from tests.engines.harness import Life, LocalHarness


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalHarness]:
    harness = LocalHarness(tmp_path)
    yield harness
    harness.close()


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Where each job says that it runs, with the PID of whoever has started it."""
    return tmp_path / "marks"


def order(life: Life, command: str, follows: LiveAttempt | None, cwd: str = "/") -> StartOrder:
    made = life.order("exits with 0", follows)
    made.attempt.job = made.attempt.job._replace(command=command, cwd=cwd)
    return made


def line_up(life: Life, *commands: str) -> list[LiveAttempt]:
    """Start a job, and line up these behind it: a starter gets all of them once that is gone."""
    last = life.start("exits with 0")
    attempts = []
    for command in commands:
        made = order(life, command, last)
        life.engine.line_up(made)
        last = made.attempt
        attempts.append(last)
    return attempts


def marking(marks: Path, *does: str) -> list[str]:
    """Commands that each leave their mark, and then do this."""
    return [f"echo {number} $PPID >> {marks}; {each}" for number, each in enumerate(does)]


def marked(marks: Path) -> list[int]:
    """Which jobs have run, in this order."""
    return [int(line.split()[0]) for line in marks.read_text().splitlines()] if marks.exists() else []


def begun_by(marks: Path) -> set[int]:
    return {int(line.split()[1]) for line in marks.read_text().splitlines()}


def starters() -> list[int]:
    """Our children that share our session: every job has its own."""
    found = ((pid, read_process(pid)) for pid in children_of(os.getpid()))
    ours = os.getsid(0)
    return [pid for pid, process in found if process is not None and process.session == ours and not process.zombie]


def begin_slow(life: Life, marks: Path, *behind: str) -> list[LiveAttempt]:
    """A job that a starter has begun, and that runs until a file `go` is there; behind it, these."""
    waits = f"while ! test -e {marks.parent}/go; do sleep 0.01; done; exit 5"
    attempts = line_up(life, *marking(marks, waits, *behind))
    started = life.wait_for(Started, attempts[0])
    attempts[0].has_process(started.pid, started.process)
    process = read_process(started.pid)
    assert process is not None
    assert process.parent in starters()
    return attempts


def go(marks: Path) -> None:
    (marks.parent / "go").touch()


def wait_for_all(life: Life, attempts: list[LiveAttempt]) -> list[Any]:
    return [life.wait_for(Ended, attempt) for attempt in attempts]


# -- what the loop hears of them ------------------------------------------------------------------------------------


def test_a_starter_works_through_a_line_and_the_loop_hears_of_each_end_in_turn(
    local: LocalHarness, marks: Path
) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, "exit 0", "exit 3", "kill -SEGV $$", "exit 0"))
        ends = wait_for_all(life, attempts)
        assert [(end.exit_code, end.signal) for end in ends] == [
            (0, None),
            (3, None),
            (None, signal.SIGSEGV),
            (0, None),
        ]
        told = [report.attempt_id for report in life.seen if isinstance(report, Ended)]
        assert told[1:] == [attempt.id for attempt in attempts]
        assert marked(marks) == [0, 1, 2, 3]
        assert begun_by(marks) == set(starters())
        for before, after in pairwise(attempts):
            assert before.started.mono < after.started.mono
        for attempt, end in zip(attempts, ends, strict=True):
            assert attempt.started.wall <= end.at <= time.time()
        assert life.engine.lined_up() == 0

    local.life(body)


def test_a_job_that_printed_has_its_log_and_a_silent_one_has_no_folder(local: LocalHarness) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, "true", "echo hello", "true", "echo again >&2", "true")
        assert [end.silent for end in wait_for_all(life, attempts)] == [True, False, True, False, True]
        assert Path(attempts[1].log).read_text() == "hello\n"
        assert Path(attempts[3].log).read_text() == "again\n"
        life.engine.close(set())
        assert sorted(os.listdir(Path(attempts[1].log).parent.parent)) == ["3", "5"]

    local.life(body)


def test_a_job_that_lasts_is_told_as_started_and_its_end_at_once(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        first, second, third = begin_slow(life, marks, "exit 0", "exit 0")
        go(marks)
        assert life.wait_for(Ended, first).exit_code == 5
        wait_for_all(life, [second, third])

    local.life(body)


def test_orders_come_behind_those_that_a_starter_has(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        for number in range(3, 300):
            late = order(life, f"echo {number} $PPID >> {marks}", attempts[-1])
            life.engine.line_up(late)
            attempts.append(late.attempt)
        life.engine.follow_up()
        assert life.engine.lined_up() == 299
        go(marks)
        wait_for_all(life, attempts)
        assert marked(marks) == list(range(300))
        assert len(begun_by(marks)) == 1

    local.life(body)


def test_a_job_that_leaves_a_process_holds_up_its_line_until_that_is_gone(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, "exit 0", "sleep 600 & exit 4", "exit 0", "exit 0"))
        end = life.wait_for(Ended, attempts[1])
        assert (end.exit_code, len(end.leftovers)) == (4, 1)
        assert marked(marks) == [0, 1]
        life.engine.stop(attempts[1], 2)
        wait_for_all(life, attempts[2:])
        assert marked(marks) == [0, 1, 2, 3]

    local.life(body)


def test_a_process_that_shed_its_session_and_its_environment_is_found_too(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        leaves = f"setsid env -i sh -c 'echo $$ > {marks.parent}/left; exec sleep 600' & sleep 0.05"
        attempts = line_up(life, *marking(marks, leaves, "exit 0", "exit 0"))
        left = life.wait_for(Ended, attempts[0]).leftovers
        assert len(left) == 1
        assert marked(marks) == [0]
        life.engine.stop(attempts[0], 2)
        wait_for_all(life, attempts)
        assert marked(marks) == [0, 1, 2]
        assert not is_alive(identity_of(int((marks.parent / "left").read_text())))

    local.life(body)


def test_a_job_that_cannot_start_is_told_as_such_and_holds_up_nobody(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        first = life.start("exits with 0")
        orders = [order(life, marking(marks, "exit 0")[0], first)]
        orders.append(order(life, "true", orders[0].attempt, cwd="/nowhere"))
        orders.append(order(life, marking(marks, "exit 0")[0], orders[1].attempt))
        for each in orders:
            life.engine.line_up(each)
        assert "/nowhere" in life.wait_for(NotStarted, orders[1].attempt).reason
        wait_for_all(life, [orders[0].attempt, orders[2].attempt])
        assert marked(marks) == [0, 0]

    local.life(body)


def test_what_does_not_fit_into_a_message_is_started_by_the_host(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        commands = marking(marks, "exit 0", f": {'x' * LONGEST_MESSAGE}", "exit 0", "exit 0", "exit 0")
        wait_for_all(life, line_up(life, *commands))
        assert marked(marks) == [0, 1, 2, 3, 4]
        assert os.getpid() in begun_by(marks)

    local.life(body)


def test_a_job_that_is_not_plain_is_started_by_the_host(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        last = life.start("exits with 0")
        attempts = []
        for number, command in enumerate(marking(marks, *["exit 0"] * 5)):
            made = order(life, command, last)
            if number == 2:
                made.attempt.job = made.attempt.job._replace(max_log_bytes=1000)
            life.engine.line_up(made)
            last = made.attempt
            attempts.append(last)
        wait_for_all(life, attempts)
        assert marked(marks) == [0, 1, 2, 3, 4]
        assert os.getpid() in begun_by(marks)

    local.life(body)


def test_jobs_do_not_inherit_what_a_starter_has_open_or_ignores(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        shows = f"ls /proc/self/fd | wc -l > {marks}; grep SigIgn /proc/self/status >> {marks}"
        wait_for_all(life, line_up(life, shows, "true", "true"))
        count, ignored = marks.read_text().splitlines()
        assert int(count) == 4  # its three, and the folder that `ls` reads
        assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 0  # those above belong to the C library

    local.life(body)


def test_each_of_many_jobs_may_have_large_variables_of_its_own(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LARGE", "x" * 20_000)

    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        for number in range(3, 60):
            late = order(life, f"echo {number} $PPID >> {marks}", attempts[-1])
            late.attempt.job = late.attempt.job._replace(environment_id=number)
            life.engine.line_up(late)
            attempts.append(late.attempt)
        life.engine.follow_up()
        go(marks)
        wait_for_all(life, attempts)
        assert marked(marks) == list(range(60))
        assert len(begun_by(marks)) == 1

    local.life(body)


def test_a_job_has_begun_before_it_does_anything(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *[f"date +%s.%N >> {marks}"] * 20)
        ends = wait_for_all(life, attempts)
        moments = list(map(float, marks.read_text().split()))
        for attempt, moment, end in zip(attempts, moments, ends, strict=True):
            assert attempt.started.wall <= moment <= end.at

    local.life(body)


def test_one_that_an_idle_starter_gets_begins_then_and_not_when_that_was_decided(
    local: LocalHarness, marks: Path
) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, *["exit 0"] * 4))
        late = order(life, f"echo 4 $PPID >> {marks}", attempts[-1])
        wait_for_all(life, attempts)
        before = life.now()
        life.engine.line_up(late)
        assert late.attempt.started.mono >= before.mono
        wait_for_all(life, [late.attempt])
        assert late.attempt.started.mono >= before.mono
        assert len(begun_by(marks)) == 1

    local.life(body)


def test_when_an_end_is_told_the_next_one_has_begun_at_that_moment_or_later(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, *["exit 0"] * 40))
        for before, after in pairwise(attempts):
            end = life.wait_for(Ended, before)
            assert after.started.wall >= end.at - 0.000_01  # the clocks are read one after the other

    local.life(body)


# -- what somebody wants of them ------------------------------------------------------------------------------------


def test_those_that_stand_down_never_begin_and_those_that_have_begun_go_on(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        first, *others = begin_slow(life, marks, "exit 0", "exit 0", "exit 0")
        assert not life.engine.stand_down(first)
        assert [life.engine.stand_down(attempt) for attempt in others] == [True] * 3
        assert life.engine.lined_up() == 0
        go(marks)
        assert life.wait_for(Ended, first).exit_code == 5
        assert marked(marks) == [0]
        assert all(life.about(attempt) == [] for attempt in others)

    local.life(body)


def test_while_a_line_is_worked_through_each_job_runs_or_stands_down(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = line_up(life, *[f"echo {number} >> {marks}" for number in range(60)])
        life.wait_for(Ended, attempts[5])
        back = [attempt for attempt in attempts if life.engine.stand_down(attempt)]
        ran = [attempt for attempt in attempts if attempt not in back]
        wait_for_all(life, ran)
        assert back, "all had begun: the line is too short for this test"
        assert marked(marks) == list(range(len(ran)))

    local.life(body)


def test_those_behind_one_that_left_a_process_stand_down_before_the_host_knows_that(
    local: LocalHarness, marks: Path
) -> None:
    def body(life: Life) -> None:
        waits = f"while ! test -e {marks.parent}/go; do sleep 0.01; done; sleep 600 & exit 5"
        first, *others = line_up(life, *marking(marks, waits, *["exit 0"] * 4))
        life.wait_for(Started, first)
        (starter,) = starters()
        go(marks)
        until(lambda: starter not in starters(), "the end of the starter, of which the host has not heard")
        assert [life.engine.stand_down(attempt) for attempt in others] == [True] * 4
        assert life.wait_for(Ended, first).leftovers
        life.engine.stop(first, 2)
        life.wait_for(Gone, first)
        assert marked(marks) == [0]

    local.life(body)


def test_standing_down_comes_to_an_end_when_the_host_starts_the_next_one_meanwhile(
    local: LocalHarness, marks: Path
) -> None:
    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        not_plain = order(life, marking(marks, "exit 0")[0], attempts[-1])
        not_plain.attempt.job = not_plain.attempt.job._replace(max_log_bytes=1000)
        life.engine.line_up(not_plain)
        go(marks)
        journal = marks.parent / "keepers" / life.engine.keeper
        until(lambda: f"S {attempts[-1].id}" in journal.read_text(), "the last one, of which the host has not heard")
        until(lambda: not children_of(starters()[0]), "its end")
        life.engine.stand_down(attempts[-1])
        wait_for_all(life, [*attempts, not_plain.attempt])

    local.life(body)


@pytest.mark.parametrize("step", [1, 2])
def test_one_that_a_starter_has_begun_is_stopped(local: LocalHarness, marks: Path, step: int) -> None:
    def body(life: Life) -> None:
        first, *others = begin_slow(life, marks, "exit 0", "exit 0")
        life.engine.stop(first, step)
        assert life.wait_for(Ended, first).signal == (signal.SIGTERM if step == 1 else signal.SIGKILL)
        wait_for_all(life, others)
        assert marked(marks) == [0, 1, 2]

    local.life(body)


def test_one_that_a_starter_has_begun_is_suspended_and_goes_on(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        # A shell that is just starting another program does not stop before that has begun.
        spins = f"while ! test -e {marks.parent}/go; do :; done; exit 5"
        first, *others = line_up(life, *marking(marks, spins, "exit 0", "exit 0"))
        pid = life.wait_for(Started, first).pid
        assert life.engine.signal_all(first, signal.SIGSTOP)
        go(marks)
        until(lambda: "T" in Path(f"/proc/{pid}/stat").read_text().split()[2], "a process that is stopped")
        assert life.engine.signal_all(first, signal.SIGCONT)
        assert life.wait_for(Ended, first).exit_code == 5
        wait_for_all(life, others)

    local.life(body)


def test_one_that_a_starter_has_begun_gets_its_notice(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        listens = f"trap 'exit 6' USR1; touch {marks.parent}/listens; while :; do sleep 0.01; done"
        attempts = line_up(life, *marking(marks, listens, "exit 0", "exit 0"))
        life.wait_for(Started, attempts[0])
        until((marks.parent / "listens").exists, "a job that listens")
        assert life.engine.notice(attempts[0], signal.SIGUSR1)
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [6, 0, 0]

    local.life(body)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP])
def test_what_a_terminal_sends_to_all_of_us_ends_no_starter(
    local: LocalHarness, marks: Path, number: signal.Signals
) -> None:
    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        (starter,) = starters()
        os.kill(starter, number)
        go(marks)
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [5, 0, 0]
        assert begun_by(marks) == {starter}

    local.life(body)


# -- when a starter dies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_job_of_a_starter_that_somebody_kills_or_stops_keeps_running_and_its_end_is_told(
    local: LocalHarness, marks: Path, number: signal.Signals
) -> None:
    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 7")
        (starter,) = starters()
        os.kill(starter, number)
        go(marks)
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [5, 0, 7]
        assert marked(marks) == [0, 1, 2]

    local.life(body)


Point = tuple[type[Any], str, bool]
POINTS: dict[str, Point] = {
    "before the start is written": (JournalWriter, "begin_unless", False),
    "after the start is written": (JournalWriter, "begin_unless", True),
    "before the process is there": (Spawner, "start", False),
    "after the process is there": (Spawner, "start", True),
    "after the process is known": (JournalWriter, "started", True),
    "before the end is written": (JournalWriter, "note_end", False),
    "after the end is written": (JournalWriter, "note_end", True),
}


def die_once(monkeypatch: pytest.MonkeyPatch, point: Point, died: Path, how: Callable[[], None]) -> None:
    """Let the first starter that comes to this point for the second time do this."""
    where, name, afterwards = point
    host, done, calls = os.getpid(), getattr(where, name), [0]

    def dying(*args: Any) -> Any:
        result = done(*args) if afterwards else None
        if os.getpid() != host and not died.exists():
            calls[0] += 1
            if calls[0] == 2:
                died.touch()
                how()
        return result if afterwards else done(*args)

    monkeypatch.setattr(where, name, dying)


def kill_us() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop_us() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def hang_us() -> None:
    signal.pause()  # as if for a lock


def fail_us() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# While a job runs, as far as the host can know, it does not know whether the starter hangs.
CASES = [(point, how) for point in POINTS for how in (kill_us, stop_us, fail_us)]
CASES += [
    (point, hang_us) for point in POINTS if point not in ("after the process is known", "before the end is written")
]


@pytest.mark.parametrize("lasts", ["exit 7", "sleep 0.05; exit 7"])
@pytest.mark.parametrize(("point", "how"), CASES)
def test_wherever_a_starter_dies_each_job_runs_once_and_no_end_is_lost(
    local: LocalHarness,
    marks: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    lasts: str,
    how: Callable[[], None],
) -> None:
    died = marks.parent / "died"
    monkeypatch.setattr(starters_module, "_PATIENCE_S", 0.2)

    def body(life: Life) -> None:
        die_once(monkeypatch, POINTS[point], died, how)
        attempts = line_up(life, *marking(marks, *[lasts] * 6))
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [7] * 6
        assert marked(marks) == [0, 1, 2, 3, 4, 5]
        assert died.exists()

    local.life(body)


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "too many files"), RuntimeError("a fault of ours")])
def test_a_starter_that_cannot_begin_ends_and_never_becomes_a_second_host(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def body(life: Life) -> int:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(starter_module, "close_all_but", fail)
        monkeypatch.setattr(sys, "__excepthook__", fail)
        attempts = line_up(life, *marking(marks, *["exit 7"] * 6))
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [7] * 6
        assert begun_by(marks) == {os.getpid()}
        return os.getpid()

    local.life(body)
    assert marked(marks) == [0, 1, 2, 3, 4, 5]


def test_one_that_is_stopped_while_it_writes_does_not_stop_its_host(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = marks.parent / "died"

    def body(life: Life) -> None:
        die_once(monkeypatch, (WriteLock, "__enter__", True), died, stop_us)
        attempts = line_up(life, *marking(marks, *["exit 7"] * 6))
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [7] * 6
        assert marked(marks) == [0, 1, 2, 3, 4, 5]
        assert died.exists()

    local.life(body)


def test_the_journal_may_vanish_under_a_starter(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        journal = marks.parent / "keepers" / life.engine.keeper
        journal.unlink()
        go(marks)
        assert [end.exit_code for end in wait_for_all(life, attempts)] == [5, 0, 0]
        assert marked(marks) == [0, 1, 2]
        assert journal.exists()

    local.life(body)


def test_a_host_with_threads_has_starters_too(local: LocalHarness, marks: Path) -> None:
    def body(life: Life) -> None:
        over = threading.Event()
        reader = threading.Thread(target=over.wait)
        reader.start()
        wait_for_all(life, line_up(life, *marking(marks, *["exit 0"] * 4)))
        assert begun_by(marks) == set(starters())
        over.set()
        reader.join()

    local.life(body)


def test_starters_that_are_of_no_use_are_not_made_again_and_again(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks = [0]

    class Counted(StarterLink):
        def __init__(self, *args: Any) -> None:
            forks[0] += 1
            super().__init__(*args)

    def body(life: Life) -> int:
        monkeypatch.setattr(starters_module, "StarterLink", Counted)
        for _ in range(6):
            attempts = line_up(life, *marking(marks, "sleep 600 & exit 0", "exit 0", "exit 0", "exit 0"))
            life.wait_for(Ended, attempts[0])
            life.engine.stop(attempts[0], 2)
            wait_for_all(life, attempts)
        return forks[0]

    assert local.life(body) == 3


# -- how long they live ---------------------------------------------------------------------------------------------


def test_one_without_work_ends_and_another_one_comes_when_there_is_work(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starters_module, "_IDLE_S", 0.05)

    def body(life: Life) -> None:
        wait_for_all(life, line_up(life, *marking(marks, *["exit 0"] * 4)))

        def are_gone() -> bool:
            life._wait()
            return not children_of(os.getpid()) and not life.engine.reports()

        life.engine.settled()
        until(are_gone, "the end of idle starters")
        wait_for_all(life, line_up(life, *marking(marks, *["exit 0"] * 4)))
        assert len(begun_by(marks)) == 2

    local.life(body)


def test_a_host_that_lets_go_leaves_no_starter_and_what_runs_to_its_keeper(local: LocalHarness, marks: Path) -> None:
    def first_life(life: Life) -> list[LiveAttempt]:
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        life.engine.close({life.engine.keeper})
        assert starters() == []
        return attempts

    attempts = local.life(first_life)
    go(marks)
    its_end_is_told_and_the_others_never_began(local, attempts)
    assert marked(marks) == [0]


def test_a_host_that_is_killed_takes_its_starters_along_and_not_their_jobs(local: LocalHarness, marks: Path) -> None:
    def first_life(life: Life) -> tuple[str, list[LiveAttempt]]:
        return identity_of(os.getpid()), begin_slow(life, marks, "exit 0", "exit 0")  # it ends as if killed

    host, attempts = local.life(first_life)
    until(lambda: not is_alive(host), "the end of the host")
    go(marks)
    its_end_is_told_and_the_others_never_began(local, attempts)
    assert marked(marks) == [0]


def its_end_is_told_and_the_others_never_began(local: LocalHarness, attempts: list[LiveAttempt]) -> None:
    def body(life: Life) -> None:
        life.engine.adopt(attempts, rebooted=False)
        assert life.wait_for(Ended, attempts[0]).exit_code == 5
        for attempt in attempts[1:]:
            life.wait_for(NeverBegan, attempt)

    local.life(body)


def test_whatever_a_killed_host_has_not_told_of_its_line_the_next_one_finds_out(
    local: LocalHarness, marks: Path
) -> None:
    def first_life(life: Life) -> list[LiveAttempt]:
        attempts = line_up(life, *marking(marks, *["exit 7"] * 40))
        life.wait_for(Ended, attempts[3])
        return attempts

    attempts = local.life(first_life)

    def body(life: Life) -> list[str]:
        life.engine.adopt(attempts, rebooted=False)
        return [type(until(lambda each=attempt: reported(life, each))).__name__ for attempt in attempts]  # type: ignore[misc]

    def reported(life: Life, attempt: LiveAttempt) -> Any:
        life._wait() if not life.about(attempt) else None
        found = life.about(attempt)
        return next((report for report in found if isinstance(report, (Ended, NeverBegan))), None)

    told = local.life(body)
    ran = marked(marks)
    assert ran == list(range(len(ran)))
    assert told == ["Ended"] * len(ran) + ["NeverBegan"] * (40 - len(ran))


def test_nobody_says_that_a_job_never_began_while_a_starter_may_begin_it(local: LocalHarness, tmp_path: Path) -> None:
    """Its host is dead, and the kernel has not yet killed the starter, which has the journal open."""
    (tmp_path / "keepers").mkdir(exist_ok=True)
    journal = JournalWriter(str(tmp_path / "keepers"))
    journal.share(lambda: None)

    def body(life: Life) -> None:
        made = life.order("exits with 0")
        made.attempt.keeper = journal.name
        life.engine.adopt([made.attempt], rebooted=False)
        for _ in range(4):
            life._wait()
        assert life.about(made.attempt) == []
        journal.begin_unless(lambda: False, made.attempt.id)
        journal.started(made.attempt.id, os.getpid())
        journal.ended(made.attempt.id, 7 << 8)
        assert life.wait_for(Ended, made.attempt).exit_code == 7
        other = life.order("exits with 0")
        other.attempt.keeper = journal.name
        journal.shared_no_more()
        life.engine.adopt([other.attempt], rebooted=False)
        life.wait_for(NeverBegan, other.attempt)

    local.life(body)
    os.close(journal.fd)


def test_the_journal_keeps_an_end_until_it_is_on_disk_also_if_processes_are_left(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.engines.local.keeper.journal.COMPACT_BYTES", 0)

    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, "sleep 600 & exit 5", "exit 0", "exit 0"))
        journal = str(marks.parent / "keepers" / life.engine.keeper)
        has_begun = False
        while not any(isinstance(report, Ended) for report in life.about(attempts[0])):
            life.engine.settled()
            begun = read_journal(journal).of(attempts[0].id).begun
            assert begun or not has_begun
            has_begun = begun
            life._wait()
        assert has_begun
        life.engine.stop(attempts[0], 2)
        wait_for_all(life, attempts)

    local.life(body)


# -- what they cost others ------------------------------------------------------------------------------------------


def test_starters_are_no_orphans_and_so_no_job_is_searched_for_what_it_left() -> None:
    helpers: set[int] = set()
    children = Children(helpers)
    children.add(4711, 1)
    helpers.add(4712)
    assert len(children) == 2
    assert children.pids == {4711, 4712}
    assert children.attempts == {1}


def test_a_channel_that_nobody_reads_ends_its_starter_and_not_the_host(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(StarterLink):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    def body(life: Life) -> None:
        monkeypatch.setattr(starters_module, "StarterLink", Full)
        attempts = begin_slow(life, marks, "exit 0", "exit 0")
        for number in range(3, 600):
            late = order(life, f"echo {number} $PPID >> {marks}", attempts[-1])
            life.engine.line_up(late)
            life.engine.follow_up()
            attempts.append(late.attempt)
        go(marks)
        wait_for_all(life, attempts)
        assert marked(marks) == list(range(600))

    local.life(body)


def test_the_journal_forgets_what_is_on_disk_and_keeps_what_a_starter_is_about(
    local: LocalHarness, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.engines.local.keeper.journal.COMPACT_BYTES", 500)

    def body(life: Life) -> None:
        attempts = line_up(life, *marking(marks, *["exit 7"] * 40))
        for attempt in attempts:
            assert life.wait_for(Ended, attempt).exit_code == 7
            life.engine.settled()
        assert marked(marks) == list(range(40))
        journal = read_journal(str(marks.parent / "keepers" / life.engine.keeper))
        assert len(journal.records) < 20
        assert journal.has_starters

    local.life(body)
