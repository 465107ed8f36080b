"""Starting a daemon in the background: what it is told, whom it waits for, and what is said when it fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.machine.daemon import running_daemon
from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.errors import DuckrowError, StateError, UsageError
from duckrow.devices.discover import Offer
from duckrow.engines.local.processes.processes import DAEMON_TAG, TAG
from duckrow.kernel.process import identity_of
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler.hosts import background
from duckrow.scheduler.hosts.background import READY, TAKEN
from duckrow.scheduler.hosts.chosen_devices import DeviceChoice, remembered
from duckrow.scheduler.hosts.host import AlreadyRunning, Host
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, HostStore
from duckrow.store.sqlite.database import Database

SLOTS = DeviceChoice(slots=3)


@pytest.fixture
def database(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Of the state folder that commands would use."""
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "home"))
    database = Database(Folder(str(tmp_path / "home")), durable=False)
    yield database
    database.close()


@pytest.fixture
def folder(database: Database) -> Folder:
    return Folder(os.path.dirname(database.path))


@pytest.fixture
def daemon(database: Database, folder: Folder) -> Iterator[Host]:
    """One that is alive, and has not said what it has."""
    host = Host(folder, database, DAEMON)
    yield host
    host.release()


class Starts:
    """Instead of starting processes: what each of them answers."""

    def __init__(self, *answers: tuple[bytes, str, int]) -> None:
        self._answers = list(answers)
        self.words: list[list[str]] = []

    def __call__(self, folder: Folder, words: list[str], python: str) -> tuple[bytes, str, int]:
        self.words.append(words)
        return self._answers.pop(0)


def launch(monkeypatch: pytest.MonkeyPatch, starts: Starts, **more: Any) -> tuple[int | None, bool]:
    monkeypatch.setattr(background, "_start", starts)
    return background.launch(SLOTS, "python3", **more)


# -- whether to start one -------------------------------------------------------------------------------------------


def test_a_daemon_that_runs_is_left_alone(daemon: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.announce(cpu_seats(1), Machine())
    assert launch(monkeypatch, Starts()) == (os.getpid(), False)


def test_a_new_daemon_is_told_its_devices_and_how_to_behave(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = Starts((READY, "", 0), (READY, "", 0))
    assert launch(monkeypatch, starts) == (None, True)
    assert starts.words == [SLOTS.words()]
    launch(monkeypatch, starts, settles=True, keep_s=60.0)
    assert starts.words[1] == [*SLOTS.words(), "--settle", "--keep", "60.0s"]


def test_if_somebody_else_is_quicker_their_daemon_is_taken(
    database: Database, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Host] = []

    class Quicker(Starts):
        def __call__(self, folder: Folder, words: list[str], python: str) -> tuple[bytes, str, int]:
            others.append(Host(folder, database, DAEMON))
            others[0].announce(cpu_seats(1), Machine())
            return super().__call__(folder, words, python)

    assert launch(monkeypatch, Quicker((TAKEN, "", 1))) == (os.getpid(), False)
    others[0].release()


@pytest.mark.parametrize(
    ("said", "told"),
    [("GPU 9 does not exist.", "GPU 9 does not exist."), ("", "The daemon ended at once, with exit code 3.")],
)
def test_a_daemon_that_cannot_start_says_why(
    database: Database, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    with pytest.raises(DuckrowError) as caught:
        launch(monkeypatch, Starts((b"", said, 3)))
    assert str(caught.value) == told


def test_one_that_is_just_starting_or_ending_gets_the_time_to_do_so(
    daemon: Host, database: Database, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, waits = HostStore(database), []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            daemon.announce(cpu_seats(1), Machine())

    monkeypatch.setattr(time, "sleep", wait)
    assert background._is_ready(folder, hosts, deadline=float("inf"))
    assert len(waits) == 3
    hosts.close(DAEMON)
    assert background._is_ready(folder, hosts, deadline=0.0), "it takes too long: nobody can start another"
    assert len(waits) == 3


def test_the_row_of_a_killed_daemon_does_not_speak_for_the_next_one(
    daemon: Host, database: Database, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one may only settle what is wished, and has its lock a moment before it says so."""
    hosts = HostStore(database)
    daemon.announce(cpu_seats(1), Machine())
    with subprocess.Popen(["sleep", "600"]) as killed:
        database.execute("UPDATE hosts SET process = ? WHERE id = ?", (identity_of(killed.pid), DAEMON))
        killed.kill()
    assert hosts.get(DAEMON).was_killed
    assert running_daemon(folder, database) is None
    monkeypatch.setattr(time, "sleep", lambda seconds: daemon.announce(cpu_seats(1), Machine()))
    assert background._is_ready(folder, hosts, deadline=float("inf"))
    assert running_daemon(folder, database) is not None


def test_one_that_only_settles_is_no_daemon(daemon: Host, database: Database, folder: Folder) -> None:
    hosts = HostStore(database)
    hosts.note_settling(True)
    daemon.announce(cpu_seats(1), Machine())
    assert not background._is_ready(folder, hosts, deadline=float("inf"))
    assert background._is_ready(folder, hosts, deadline=float("inf"), settles=True), "it does this wish too"


def test_one_that_only_settles_makes_room_for_a_daemon(
    daemon: Host, database: Database, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, told = HostStore(database), []

    def tell(process: str, number: int) -> bool:
        told.append((process, number))
        hosts.note_settling(False)  # by the one who follows
        return True

    monkeypatch.setattr(background, "signal_process", tell)
    daemon.announce(cpu_seats(1), Machine())
    background._make_room(folder)
    assert told == [], "a daemon stays"
    hosts.note_settling(True)
    background._make_room(folder)
    assert told == [(hosts.get(DAEMON).process, signal.SIGTERM)]


def test_where_none_lives_none_is_ready(database: Database, folder: Folder) -> None:
    assert not background._is_ready(folder, HostStore(database), deadline=float("inf"))


# -- the process ----------------------------------------------------------------------------------------------------


class Process:
    """Instead of one: it writes into its log, answers and ends."""

    answer = b""
    writes = b""
    made: dict[str, Any]

    def __init__(self, words: list[str], **more: Any) -> None:
        type(self).made = {"words": words, **more}
        os.write(more["stderr"], self.writes)
        os.write(more["pass_fds"][0], self.answer)
        self.returncode: int | None = None

    def wait(self) -> int:
        self.returncode = 4
        return 4


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> type[Process]:
    fresh = type("FreshProcess", (Process,), {})
    monkeypatch.setattr(subprocess, "Popen", fresh)
    return fresh


def test_a_daemon_answers_when_it_is_ready(database: Database, folder: Folder, process: type[Process]) -> None:
    process.answer = READY
    assert background._start(folder, ["--slots", "3"], "python3") == (READY, "", 0)
    words = process.made["words"]
    assert words[:6] == ["python3", "-m", "duckrow", "up", "--foreground", "--ready-fd"]
    assert words[7:] == ["--slots", "3"]
    assert (process.made["cwd"], process.made["start_new_session"]) == ("/", True)


def test_of_a_daemon_that_ended_only_its_own_words_are_told(
    database: Database, folder: Folder, process: type[Process]
) -> None:
    Path(folder.daemon_log).write_text("of an earlier one\n")
    process.writes, process.answer = b"duckrow: There is no GPU 9.\n", b""
    assert background._start(folder, [], "python3") == (b"", "There is no GPU 9.", 4)


def test_a_log_that_cannot_be_written_is_told_before_anything_starts(
    database: Database, folder: Folder, process: type[Process]
) -> None:
    os.mkdir(folder.daemon_log)
    with pytest.raises(StateError, match=r"daemon\.log cannot be written: Is a directory"):
        background._start(folder, [], "python3")
    assert not hasattr(process, "made")


def test_a_daemon_that_a_job_starts_is_not_part_of_the_job(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW_JOB_ID", "7")
    monkeypatch.setenv(TAG, "7.1")
    monkeypatch.setenv(GPU_LOCKS, "/locks")
    monkeypatch.setenv("LANG", "C")
    environment = background._own_environment(folder)
    assert "DUCKROW_JOB_ID" not in environment
    assert (environment[TAG], environment["DUCKROW_HOME"]) == (DAEMON_TAG, folder.root)
    assert (environment[GPU_LOCKS], environment["LANG"]) == ("/locks", "C"), "those of the machine stay"


# -- in the process -------------------------------------------------------------------------------------------------


class Journal:
    def __init__(self) -> None:
        self.removed = 0

    def remove(self) -> None:
        self.removed += 1


class Link:
    def __init__(self) -> None:
        self.journal = Journal()


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Link:
    link = Link()
    monkeypatch.setattr(background, "fork_host", lambda *_, **__: link)
    return link


def test_a_daemon_keeps_the_devices_that_somebody_chose_for_the_next_one(
    database: Database, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[Any, ...]] = []
    monkeypatch.setattr(background, "serve", lambda *given: served.append(given))
    background.serve_here(SLOTS, lambda: None, settles=True, keep_s=5.0)
    background.serve_here(DeviceChoice(), lambda: None)
    assert [len(given[1].seats) for given in served] == [3, 3]
    assert [given[4:] for given in served] == [(True, 5.0), (False, None)]
    assert link.journal.removed == 0


def test_devices_that_do_not_exist_are_not_kept(
    database: Database, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Offer:
        raise UsageError("There is no GPU 9.")

    monkeypatch.setattr(background, "offer_of", refused)
    with pytest.raises(UsageError):
        background.serve_here(DeviceChoice(devices=["9"]), lambda: None)
    assert not remembered(database, DeviceChoice()).devices


def test_a_second_daemon_leaves_nothing_behind(database: Database, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: Any) -> None:
        raise AlreadyRunning("It is already running (process 7).")

    monkeypatch.setattr(background, "serve", taken)
    with pytest.raises(AlreadyRunning, match=r"^There is already a daemon\. It is already running \(process 7\)\.$"):
        background.serve_here(SLOTS, lambda: None)
    assert link.journal.removed == 1


# -- in words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "limited", "notes", "told"),
    [
        ({}, True, ("by PCI bus",), ()),
        ({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, False, ("by PCI bus",), ("by PCI bus",)),
        (
            {"CUDA_VISIBLE_DEVICES": "1"},
            True,
            (),
            ("using only the GPUs in CUDA_VISIBLE_DEVICES=1; to choose others: duckrow up --devices",),
        ),
    ],
)
def test_who_set_a_variable_hears_what_it_does(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    limited: bool,
    notes: tuple[str, ...],
    told: tuple[str, ...],
) -> None:
    for name in ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(background, "offer_of", lambda *_, **__: Offer([], Machine(), limited, notes))
    assert background.notes_on(SLOTS) == told


@pytest.mark.parametrize(
    ("seats", "words"),
    [
        (parse_gpus(["0"]), "GPU 0"),
        (parse_gpus(["1", "0", "1"]), "GPUs 0, 1"),
        (cpu_seats(1), "1 CPU slot"),
        ([*parse_gpus(["0"]), *cpu_seats(2)], "GPU 0 and 2 CPU slots"),
    ],
)
def test_the_devices_of_a_daemon_in_words(seats: list[Any], words: str) -> None:
    assert background.describe(seats) == words


def test_the_devices_of_the_daemon_are_told_from_its_row(daemon: Host) -> None:
    daemon.announce(cpu_seats(4), Machine())
    assert background.daemon_seats() == "4 CPU slots"
