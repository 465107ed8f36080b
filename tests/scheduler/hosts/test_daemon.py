"""The daemon from its first turn to its end, without processes: signals come by hand, and the clock jumps."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import Wish
from duckrow.devices.discover import Offer
from duckrow.scheduler.hosts import daemon
from duckrow.scheduler.hosts.own_files import FilesLost
from duckrow.scheduler.loop import Loop
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, HostStore, is_alive
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from tests.scheduler.hosts.hand_host import DryLocalHost
from tests.scheduler.language import ignores_sigterm, runs, slots, succeeds

DOES = {"good": succeeds(after_s=10), "endless": runs(), "deaf": ignores_sigterm()}


class Tending:
    """No batches on clusters: a thread would have nothing to do."""

    def __init__(self, folder: Folder, tell: Callable[[str], None]) -> None: ...

    def begin(self) -> None: ...

    def close(self) -> None: ...


class Served:
    def __init__(self, home: Path) -> None:
        self.folder = Folder(str(home))
        self.dry = DryLocalHost(DOES)
        self.database = Database(self.folder, durable=False)

    def add(self, *commands: str) -> None:
        with self.database.transaction():
            JobStore(self.database).add(DAEMON, [JobSpec(each, "/", gpus=0, grace_s=20) for each in commands], {})

    def serve(self, ready: Callable[[], None] = lambda: None, **more: Any) -> None:
        daemon.serve(self.folder, Offer(slots(2), Machine()), None, ready, **more)  # type: ignore[arg-type]

    def wish(self, wish: Wish, *ids: int) -> None:
        JobStore(self.database).wish(ids, wish)

    def states(self) -> list[str]:
        return [row[0] for row in self.database.all("SELECT coalesce(outcome, state) FROM jobs ORDER BY id")]


@pytest.fixture
def served(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)
    served = Served(tmp_path / "home")
    monkeypatch.setattr(daemon, "local_host", served.dry)
    monkeypatch.setattr(daemon, "ClusterTending", Tending)
    before = signal.getsignal(signal.SIGHUP)
    yield served
    signal.signal(signal.SIGHUP, before)
    served.dry.database.close()
    served.database.close()


def log_of(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Without the time in front of each line."""
    return [line[len("2026-01-01 00:00:00 ") :] for line in capfd.readouterr().err.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_that_is_asked_to_end_leaves_its_jobs_running(
    served: Served, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    served.add("good", "endless")
    served.dry.sends(number, after_s=60)
    served.serve()
    assert served.states() == ["succeeded", "running"]
    assert served.dry.orders() == ["start 1", "start 2"], "no signal was sent to any"
    assert log_of(capfd) == [
        f"The daemon is running (process {os.getpid()}) with 2 seats.",
        "The daemon ends; 1 job keeps running.",
    ]
    assert not is_alive(served.folder, DAEMON)
    assert HostStore(served.database).get(DAEMON).ended_at is not None


def test_a_daemon_with_several_jobs_says_how_many(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    served.add("endless", "endless")
    served.dry.sends(signal.SIGTERM, after_s=60)
    served.serve()
    assert log_of(capfd)[-1] == "The daemon ends; 2 jobs keep running."


def test_a_daemon_that_ends_with_its_jobs_stops_them_and_starts_no_other(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    served.add("endless", "deaf", "good")
    began = served.dry.clock.now().mono
    served.dry.sends(signal.SIGQUIT, after_s=60)
    served.serve()
    assert served.states() == ["killed", "killed", "queued"]
    assert served.dry.orders() == ["start 1", "start 2", "stop 1 1", "stop 2 1", "stop 2 2"]
    lasted_s = round(served.dry.clock.now().mono - began, 6)
    assert 80 <= lasted_s < 90, "the deaf one had its grace time of 20 s"
    assert log_of(capfd)[-1] == "The daemon ends."


def test_one_that_settles_starts_nothing_does_what_was_wished_and_ends(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    served.add("good", "good", "good")
    served.wish(Wish.KILL, 2)
    seen: list[bool] = []
    served.serve(lambda: seen.append(HostStore(served.database).get(DAEMON).settles), settles=True)
    assert (served.states(), served.dry.orders(), seen) == (["queued", "killed", "queued"], [], [True])
    assert HostStore(served.database).get(DAEMON).ended_at is not None
    assert log_of(capfd) == [], "nothing was running before, and nothing is now"


def test_one_that_settles_sees_the_end_of_what_it_kills_and_leaves_the_rest_running(served: Served) -> None:
    served.add("deaf", "endless", "good")
    served.dry.sends(signal.SIGTERM, after_s=5)
    served.serve()
    served.dry.live_again()
    served.wish(Wish.KILL, 1)
    served.serve(settles=True)
    assert served.states() == ["killed", "running", "queued"]
    assert served.dry.orders()[2:] == ["adopt 1", "adopt 2", "stop 1 1", "stop 1 2"]


def test_one_that_settles_does_not_end_before_it_has_seen_what_was_wished_meanwhile(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.add("good", "good")
    served.wish(Wish.KILL, 1)
    has_settled = daemon._has_settled
    wishes = iter([lambda: served.wish(Wish.KILL, 2)])

    def wished_at_the_last_moment(loop: Loop) -> bool:
        next(wishes, lambda: None)()  # nobody has rung
        return has_settled(loop)

    monkeypatch.setattr(daemon, "_has_settled", wished_at_the_last_moment)
    served.serve(settles=True)
    assert served.states() == ["killed", "killed"]


def test_a_daemon_is_ready_when_others_can_see_it(served: Served) -> None:
    seen: list[tuple[bool, bool]] = []

    def ready() -> None:
        row = HostStore(served.database).get(DAEMON)
        seen.append((is_alive(served.folder, DAEMON), row.started_at is not None and row.ended_at is None))

    served.dry.sends(signal.SIGTERM, after_s=1)
    served.serve(ready)
    assert seen == [(True, True)]


def test_a_daemon_outlives_the_terminal_that_started_it(served: Served) -> None:
    handled: list[object] = []
    served.dry.at(1, lambda: handled.append(signal.getsignal(signal.SIGHUP)))
    served.dry.sends(signal.SIGTERM, after_s=2)
    served.serve()
    assert handled == [signal.SIG_IGN]


def test_a_daemon_that_lost_its_database_says_when(served: Served) -> None:
    served.dry.at(5, lambda: os.unlink(served.folder.database))
    with pytest.raises(FilesLost, match=r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d The database .* was removed while"):
        served.serve()


def test_a_problem_and_its_end_are_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    observer = daemon._LogTrouble()
    observer.trouble("The disk is full.")
    observer.trouble_over()
    assert log_of(capfd) == ["The disk is full.", "The problem is solved."]


def test_a_log_that_cannot_be_written_does_not_end_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    def full(fd: int, data: bytes) -> int:
        tried.append(data)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        daemon._LogTrouble().trouble("The disk is full.")
    assert len(tried) == 1
