"""Opening a `duckrow run`: which list it reads, which earlier run it resumes, and what is refused before it begins."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.devices.machine import Machine
from duckrow.core.errors import StateError, UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import LAST
from duckrow.core.jobs.job import JobSpec
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.scheduler.hosts import run_host, run_session
from duckrow.scheduler.hosts.foreground import ForegroundRun
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.run_session import OtherDevices, SweepJobs, find_earlier, open_run, open_sweep
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostStore
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from tests.scheduler.hosts.hand_host import DryLocalHost
from tests.scheduler.hosts.test_background import Link
from tests.scheduler.language import fails, slots, succeeds

KEPT, CHOSEN = OtherDevices(seats=False), OtherDevices()
DOES = {"good": succeeds(after_s=10), "bad": fails(after_s=10)}


def _noting(make: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
    """For what is closed by the end of the process, where there is one."""

    def note(*given: Any, **more: Any) -> Any:
        made.append(make(*given, **more))
        return made[-1]

    return note


class Sessions:
    """Runs that are opened one after another, in one working directory."""

    def __init__(self, work: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = Folder(str(work / "home"))
        self.database = Database(self.folder, durable=False)
        self.list = work / "list"
        self.link = Link()
        self.forks = 0
        self._patch = patch
        self._lists: list[int | None] = []
        self._databases: list[Database] = []
        patch.setattr(run_session, "_open_source", _noting(run_session._open_source, self._lists))
        for module in (run_session, run_host):
            patch.setattr(module, "Database", _noting(Database, self._databases))
        patch.setattr(run_session, "fork_host", self._fork)
        patch.setattr("gc.freeze", lambda: None)  # it is not a process of its own: what tests leave is garbage
        patch.setattr(signal, "signal", lambda *_: None)

    def _fork(self, *_: Any, **__: Any) -> Link:
        self.forks += 1
        return self.link

    def _dry(self) -> DryLocalHost:
        dry = DryLocalHost(DOES)
        self._patch.setattr(run_host, "local_host", dry)
        return dry

    def open(self, commands: str | None = None, seats: int = 1, **more: Any) -> ForegroundRun:
        if commands is not None:
            self.list.write_text(commands)
            more.setdefault("file", str(self.list))
        if "resume" in more:
            more["earlier"] = find_earlier(more.pop("resume"), more.get("file"))
        self.dry = self._dry()
        offer = Offer(slots(seats), Machine())
        return open_run(offer, Observer(), lambda line: JobSpec(line, "/"), environment={"A": "1"}, **more)

    def sweep(self, jobs: SweepJobs, seats: int = 1, chosen: OtherDevices = CHOSEN) -> ForegroundRun:
        self.dry = self._dry()
        return open_sweep(Offer(slots(seats), Machine()), Observer(), jobs, chosen=chosen, environment={})

    def close(self) -> None:
        for fd in filter(None, self._lists):
            os.close(fd)
        for database in (*self._databases, self.database):
            database.close()

    def play(self, *given: Any, **more: Any) -> ForegroundRun:
        """Open a run, and let it come to its end."""
        run = self.open(*given, **more)
        run.go()
        run.close()
        return run

    def states(self) -> list[str]:
        return [row[0] for row in self.database.all("SELECT coalesce(outcome, state) FROM jobs ORDER BY id")]

    def hosts(self) -> list[tuple[str, str, str]]:
        return [tuple(row) for row in self.database.all("SELECT name, cwd, source FROM hosts WHERE id > 1 ORDER BY id")]


@pytest.fixture
def sessions(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    sessions = Sessions(tmp_path, monkeypatch)
    yield sessions
    sessions.close()


def test_a_run_reads_its_list_and_is_remembered_by_it(sessions: Sessions) -> None:
    run = sessions.play("good\nbad\n", name="mine")
    assert sessions.states() == ["succeeded", "failed"]
    assert sessions.hosts() == [("mine", os.getcwd(), str(sessions.list))]
    assert (run.added, run.failures) == (2, 1)


def test_a_run_that_is_resumed_runs_only_what_did_not_succeed(sessions: Sessions) -> None:
    sessions.play("good\nbad\n")
    run = sessions.play("good\nbad\n", resume=LAST)
    assert (run.succeeded_before, run.added) == (1, 1)
    assert sessions.dry.orders() == ["start 2"]
    assert len(sessions.hosts()) == 1, "it is the same run"


def test_a_run_that_is_resumed_by_name_finds_its_list_itself(sessions: Sessions) -> None:
    sessions.play("bad\n", name="mine")
    run = sessions.play(resume="mine")
    assert run.source is not None
    assert sessions.dry.orders() == ["start 1"]


def test_a_run_without_a_list_is_resumed_with_all_its_jobs(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    run = sessions.open(name="piped")
    run.take(CommandList(["bad", "good"]))
    run.go()
    run.close()
    run = sessions.play(resume="piped")
    assert run.source is None, "standard input is another one by now"
    assert (run.succeeded_before, run.added, sessions.dry.orders()) == (1, 1, ["start 1"])


def test_a_resumed_run_keeps_its_seats_unless_others_are_chosen(sessions: Sessions) -> None:
    sessions.play("bad\n", seats=3)
    kept = sessions.open("bad\n", seats=1, chosen=KEPT, resume=LAST)
    assert kept.seat_count == 3
    kept.close()
    chosen = sessions.open("bad\n", seats=1, resume=LAST)
    assert chosen.seat_count == 1
    chosen.close()


@pytest.mark.parametrize(
    ("resume", "told"),
    [("nobody", "There is no earlier run 'nobody' to resume."), (LAST, "There is no earlier run of ")],
)
def test_what_never_ran_cannot_be_resumed(sessions: Sessions, resume: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        sessions.open("good\n", resume=resume)
    assert str(caught.value).startswith(told)
    assert sessions.forks == 0


def test_one_command_in_a_terminal_cannot_be_resumed(sessions: Sessions) -> None:
    run = sessions.open(name="shell", output="terminal")
    run.close()
    assert run.source is None
    with pytest.raises(UsageError, match="There is no earlier run 'shell' to resume"):
        sessions.open(resume="shell")


def test_a_list_that_cannot_be_read_is_told_before_anything_begins(sessions: Sessions) -> None:
    with pytest.raises(UsageError, match=r"The file .*/missing cannot be read: No such file or directory\."):
        sessions.open(file="missing")
    assert (sessions.forks, sessions.hosts()) == (0, [])


def test_a_run_that_still_goes_cannot_be_resumed_and_nothing_is_left_behind(sessions: Sessions) -> None:
    run = sessions.open("good\n", name="mine")
    run.loop.begin()
    with pytest.raises(UsageError, match=r"^The run mine has not ended\. It is already running \(process"):
        sessions.open("good\n", resume="mine")
    assert sessions.link.journal.removed == 1
    run.close()


def test_a_run_that_cannot_write_its_database_leaves_no_journal(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise StateError("The disk is full.")

    monkeypatch.setattr(HostStore, "add_run", full)
    with pytest.raises(StateError, match="The disk is full"):
        sessions.open("good\n")
    assert sessions.link.journal.removed == 1


def test_the_jobs_of_a_run_have_the_environment_of_its_command(sessions: Sessions) -> None:
    sessions.play("good\n")
    environment_id = int(sessions.database.one("SELECT environment_id FROM jobs WHERE id = 1"))
    assert JobStore(sessions.database).environment(environment_id) == {"A": "1"}


def test_the_run_of_a_sweep_is_resumed_as_a_sweep(sessions: Sessions) -> None:
    sessions.sweep(jobs("bad")).close()
    with pytest.raises(UsageError, match=r"^The run sweep-lr is a sweep\. .*: duckrow sweep --resume --name 7$"):
        sessions.open(resume="sweep-lr")


# -- sweeps ---------------------------------------------------------------------------------------------------------


def jobs(*commands: str, again: tuple[int, ...] = (), stranded: tuple[int, ...] = ()) -> SweepJobs:
    return SweepJobs(7, "lr", [JobSpec(command, "/") for command in commands], again, stranded)


def test_the_runs_of_a_sweep_run_here_and_it_is_remembered(sessions: Sessions) -> None:
    run = sessions.sweep(jobs("good", "bad"))
    run.go()
    run.close()
    assert sessions.states() == ["succeeded", "failed"]
    assert sessions.hosts() == [("sweep-lr", "", "sweep:7")]


def test_a_sweep_continues_where_it_began(sessions: Sessions) -> None:
    first = sessions.sweep(jobs("bad"), seats=2)
    first.go()
    first.close()
    second = sessions.sweep(jobs("good", again=(1,)), chosen=KEPT)
    assert (second.host_id, second.seat_count, second.added) == (first.host_id, 2, 2)
    second.go()
    second.close()
    assert sessions.dry.orders() == ["start 1", "start 2"]


@pytest.mark.parametrize("chosen", [CHOSEN, KEPT])
def test_what_a_dead_run_had_queued_is_taken_over_and_the_rest_is_skipped(
    sessions: Sessions, chosen: OtherDevices
) -> None:
    first = sessions.sweep(jobs("good", "good", "good"))
    first.close()  # it ends before anything has started
    second = sessions.sweep(jobs(stranded=(1, 2)), chosen=chosen)
    second.go()
    second.close()
    assert sessions.states() == ["succeeded", "succeeded", "skipped"]


def test_a_sweep_whose_runs_cannot_be_written_is_no_host(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise StateError("The disk is full.")

    monkeypatch.setattr(JobStore, "add", full)
    with pytest.raises(StateError, match="The disk is full"):
        sessions.sweep(jobs("good"))
    host_id = int(sessions.database.one("SELECT max(id) FROM hosts"))
    Host(sessions.folder, sessions.database, host_id).release()  # it would be refused if that one still lived
    assert sessions.states() == []
