"""`duckrow run` without processes: lists of commands, failures, signals and resuming."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM
from typing import Any

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.jobs.commands import CommandReader
from duckrow.core.jobs.job import JobSpec
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.scheduler.hosts.foreground import ForegroundRun
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostStore
from duckrow.store.jobs.history import JobStoryStore
from tests.scheduler.hosts.hand_host import HandHost
from tests.scheduler.language import fails, ignores_sigterm, runs, slots, succeeds

DOES = {
    "good": succeeds(after_s=10),
    "bad": fails(after_s=10),
    "endless": runs(),
    "deaf": ignores_sigterm(),
    "minds": Behaviour(runs_s=100, exits_on=((SIGINT, 130),)),
    "hears": Behaviour(runs_s=100, stops_after_s=1.0),
}


def spec_of(command: str) -> JobSpec:
    if command == "wrong":
        raise UsageError("'wrong' cannot run.")
    return JobSpec(command, "/", grace_s=20)


class Run:
    """Runs of lists of commands, one after another, on the same state folder."""

    def __init__(self, home: Path) -> None:
        self.on = HandHost(home, slots(1), DOES)
        self.events: list[tuple[str, Any]] = []
        self.run: ForegroundRun

    def __call__(
        self,
        commands: str | int | None,
        *,
        resume: bool = False,
        reads_otherwise: bool = False,
        at: dict[float, Callable[[], None]] | None = None,
        **options: Any,
    ) -> ForegroundRun:
        """`commands`: what stands in the list, or a pipe that it comes from; None: there is no list.

        `at`: what happens after this many seconds.
        """
        host = self.on.begin(self.run.host_id if resume else None)
        say = lambda what, about: self.events.append((what, about))  # noqa: E731
        self.run = run = ForegroundRun(host.loop, self.on.signals, spec_of, on_event=say, **options)  # type: ignore[arg-type]
        if isinstance(commands, str):
            path = Path(host.loop.host.folder.root) / "list"
            path.write_text(commands)
            run.read(os.open(path, os.O_RDONLY), CommandReader(None, False))
        elif commands is not None:
            run.read(commands, CommandReader(None, False))
        self.accepted = False
        if resume:
            hosts, is_all = HostStore(host.database), commands is None
            run.resume(hosts, rerun_all=is_all, reads_otherwise=reads_otherwise, accept=self._accept)
        for seconds, call in (at or {}).items():
            host.reactor.later(seconds, call)
        run.go(pulse=lambda: self.on.jump(host))
        host.close()
        if run.source is not None:
            os.close(run.source.fd)
        return run

    def _accept(self) -> None:
        self.accepted = True

    def sends(self, number: int) -> Callable[[], None]:
        return lambda: self.on.signals.send(number)


@pytest.fixture
def run(tmp_path: Path, new_database: str) -> Iterator[Run]:
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)
    run = Run(tmp_path / "home")
    yield run
    run.on.database.close()


def test_a_list_runs_from_its_first_line_to_its_last(run: Run) -> None:
    done = run("good\nbad\ngood\n")
    assert run.on.states() == ["succeeded", "failed", "succeeded"]
    assert run.on.started() == [1, 2, 3]
    assert (done.added, done.failures, done.succeeded_before, done.refused) == (3, 1, 0, 0)


def test_a_line_that_cannot_run_is_told_and_the_others_run(run: Run) -> None:
    done = run("good\n\nwrong\ngood\n")
    assert run.events == [("refused", "line 3: 'wrong' cannot run.")]
    assert (done.refused, done.added, run.on.states()) == (1, 2, ["succeeded", "succeeded"])


def test_after_so_many_failures_nothing_more_starts(run: Run) -> None:
    done = run("bad\ngood\nbad\ngood\n", max_failures=2)
    assert run.on.states() == ["failed", "succeeded", "failed", "queued"]
    assert done.gave_up
    assert run.events == [("gave-up", 2)]


def test_fewer_failures_than_that_stop_nothing(run: Run) -> None:
    done = run("bad\ngood\n", max_failures=2)
    assert (run.on.states(), done.gave_up) == (["failed", "succeeded"], False)


def test_the_first_ctrl_c_lets_what_runs_end_and_starts_nothing_more(run: Run) -> None:
    done = run("good\ngood\n", at={5: run.sends(SIGINT)})
    assert run.on.states() == ["succeeded", "queued"]
    assert (done.interrupts, run.events) == (1, [("interrupted", 1)])


def test_the_second_ctrl_c_stops_what_runs_and_the_third_does_not_wait(run: Run) -> None:
    run("deaf\n", at={5: run.sends(SIGINT), 6: run.sends(SIGINT), 8: run.sends(SIGINT)})
    assert run.on.orders() == ["start 1", "stop 1 1", "stop 1 2"]
    assert run.on.states() == ["killed"]
    assert run.on.machine.processes[1_000_001].ends_mono == pytest.approx(run.on.clock.now().mono)
    assert run.events == [("interrupted", 1), ("interrupted", 2), ("interrupted", 3)]


def test_without_a_third_one_the_grace_is_waited_for(run: Run) -> None:
    began = run.on.clock.now().mono
    run("deaf\n", at={5: run.sends(SIGINT), 6: run.sends(SIGINT)})
    assert run.on.clock.now().mono == pytest.approx(began + 6 + 20, abs=0.1)


def test_a_terminal_that_goes_away_while_the_run_ends_is_no_further_interrupt(run: Run) -> None:
    done = run("good\n", at={5: run.sends(SIGINT), 6: run.sends(SIGHUP)})
    assert (done.interrupts, done.hung_up) == (1, True)
    assert run.on.states() == ["succeeded"]


def test_a_terminal_that_goes_away_interrupts(run: Run) -> None:
    done = run("good\ngood\n", at={5: run.sends(SIGHUP)})
    assert (done.interrupts, done.hung_up, run.on.states()) == (1, True, ["succeeded", "queued"])


def test_a_job_that_has_the_terminal_sees_to_ctrl_c_itself_and_sigterm_is_passed_on(run: Run) -> None:
    done = run("hears\n", in_terminal=True, at={5: run.sends(SIGINT), 7: run.sends(SIGTERM)})
    assert run.on.orders() == ["start 1", "stop 1 1"]
    assert (done.interrupts, run.on.states()) == (0, ["killed"])


def test_ctrl_c_that_was_sent_to_the_run_alone_reaches_the_command(run: Run) -> None:
    done = run("minds\n", in_terminal=True, at={5: lambda: run.on.signals.send_to_one(SIGINT)})
    assert run.on.orders() == ["start 1", "signal 1 2"]
    assert (done.interrupts, run.on.states()) == (0, ["failed"])


def test_ctrl_c_to_a_list_is_not_passed_on(run: Run) -> None:
    done = run("minds\n", at={5: lambda: run.on.signals.send_to_one(SIGINT)})
    assert (done.interrupts, run.on.orders(), run.on.states()) == (1, ["start 1"], ["succeeded"])


def test_a_run_that_goes_on_skips_what_succeeded_and_repeats_what_failed(run: Run) -> None:
    run("good\nbad\ngood\n", max_failures=1)
    done = run("good\nbad\ngood\n", resume=True)
    assert run.on.states() == ["succeeded", "failed", "succeeded"]
    assert run.on.started() == [1, 2, 2, 3]
    assert (done.succeeded_before, done.added) == (1, 2)


def test_what_is_no_longer_in_the_list_does_not_start(run: Run) -> None:
    run("bad\ngood\ngood\n", max_failures=1)
    run("bad\ngood\n", resume=True)
    assert run.on.states() == ["failed", "succeeded", "skipped"]
    told = [event.detail for event in JobStoryStore(run.on.database).events(3)]
    assert "no longer in the list of commands" in told


def piped() -> tuple[int, Callable[[str], Callable[[], Any]], Callable[[], None]]:
    """A pipe, what writes into it, and what ends it."""
    fd, end = os.pipe()
    return fd, lambda text: lambda: os.write(end, text.encode()), lambda: os.close(end)


def test_a_job_does_not_start_before_its_line_has_come_again(run: Run) -> None:
    run("bad\ngood\ngood\n", max_failures=1)
    fd, writes, ends = piped()
    done = run(fd, resume=True, at={100: writes("good\n"), 200: writes("bad\n"), 300: ends})
    assert run.on.started() == [1, 2, 1]
    assert (run.on.states(), done.skipped) == (["failed", "succeeded", "skipped"], 1)
    assert run.events[1:] == [("unread", 2)]


def test_new_lines_of_a_pipe_that_never_ends_start_at_once(run: Run) -> None:
    run("bad\ngood\n", max_failures=1)
    fd, writes, ends = piped()
    done = run(fd, resume=True, at={100: writes("hears\n"), 150: run.sends(SIGINT)})
    ends()
    assert (run.on.started(), run.on.states()) == ([1, 3], ["failed", "queued", "succeeded"])
    assert (done.skipped, done.unlisted) == (0, 1), "the list has not ended: nobody knows whether its line is gone"


def test_a_list_with_a_wrong_line_drops_no_job_and_starts_none_that_it_does_not_have(run: Run) -> None:
    run("bad\ngood\ngood\n", max_failures=1)
    done = run("wrong\ngood\n", resume=True)
    assert run.on.states() == ["failed", "succeeded", "queued"]
    assert (done.skipped, done.unlisted, run.accepted) == (0, 1, False)
    assert run.events[-1] == ("unlisted", (1, False))
    run("good\n", resume=True)
    assert (run.on.states(), run.accepted) == (["failed", "succeeded", "skipped"], True)


def test_a_list_that_is_read_otherwise_and_has_no_known_line_drops_no_job(run: Run) -> None:
    run("bad\ngood\n", max_failures=1)
    run("good;good\n", resume=True, reads_otherwise=True)
    assert (run.on.states(), run.accepted) == (["failed", "queued", "succeeded"], False)
    assert run.events[-1] == ("unlisted", (1, True))
    run("bad\n", resume=True, reads_otherwise=True)
    assert (run.on.states(), run.accepted) == (["failed", "skipped", "succeeded"], True)


def test_a_wrong_form_is_not_remembered_though_nothing_waits(run: Run) -> None:
    run("bad\n")
    run("good;good\n", resume=True, reads_otherwise=True)
    assert not run.accepted
    assert run.events[-1] == ("unlisted", (0, True))


def test_without_a_list_all_that_did_not_succeed_runs_again(run: Run) -> None:
    run("bad\ngood\n", max_failures=1)
    run(None, resume=True)
    assert (run.on.states(), run.on.started()) == (["failed", "succeeded"], [1, 2, 1])


def test_what_has_not_started_can_be_dropped(run: Run) -> None:
    host = run.on.begin()
    dropping = ForegroundRun(host.loop, run.on.signals, spec_of)  # type: ignore[arg-type]
    dropping.take_jobs([JobSpec("good", "/")], [], [], {})
    dropping.drop_rest()
    assert run.on.states() == ["skipped"]
    host.close()


def test_a_run_in_which_nothing_starts_says_so_once(run: Run) -> None:
    with run.on.database.transaction():
        run.on.database.execute("INSERT INTO pauses VALUES ('', 0)")
    run("good\n", at={30: run.sends(SIGINT)})
    assert run.events == [("paused", [""]), ("interrupted", 1)]
    assert run.on.states() == ["queued"]
