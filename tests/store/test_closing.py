"""Whoever opens the database for a moment closes it again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.api.queue.changes import ChangeWatch
from duckrow.api.results.results import results
from duckrow.cli.main import run_cli
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.scheduler.hosts.background import daemon_seats, notes_on
from duckrow.scheduler.hosts.chosen_devices import DeviceChoice
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from duckrow.web.answers.change_feed import ChangeFeed
from duckrow.web.answers.thread_pool import ThreadPool
from tests.conftest import until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))
    return Folder(tmp_path / "state").make()


def open_files(folder: Folder) -> list[str]:
    """The files that only a connection has open; the database itself is kept open to see its locks."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue  # it was that of the listing
    return [path for path in found if path.startswith(f"{folder.database}-")]


def ask_for_results() -> None:
    with pytest.raises(UsageError):
        results("no such sweep")


def note_variables() -> None:
    notes_on(DeviceChoice(slots=1))


@pytest.mark.parametrize("ask", [daemon_seats, note_variables, ask_for_results])
def test_who_asks_once_leaves_nothing_open(
    folder: Folder, ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    ask()
    assert open_files(folder) == []


def test_the_threads_of_the_page_close_what_they_opened(folder: Folder) -> None:
    threads = ThreadPool(folder.root)
    assert asyncio.run(threads.read(lambda client: client.daemon())) is None
    assert open_files(folder)
    threads.close()
    until(lambda: not open_files(folder), "all is closed")


def test_the_watcher_of_changes_closes_what_it_opened(folder: Folder) -> None:
    hub = ChangeFeed(folder.root)
    assert hub._thread.submit(hub._look).result() is None
    assert isinstance(hub._watch, ChangeWatch)
    assert open_files(folder)
    hub.close()
    until(lambda: not open_files(folder), "all is closed")


@pytest.mark.parametrize(
    "words",
    [
        *("ls", "ls --json", "show 1", "why 1", "logs 1", "gpus", "memory", "limit", "results --list", "batches", ""),
        *("hold 1", "release 1", "priority 1 50", "move 1 --first", "edit 1 retries=1", "rm 1", "wait 1 --timeout 0"),
        *("ls 99", "kill 99", "show 99", "results nothing"),  # also if it is refused
    ],
)
def test_a_verb_leaves_nothing_open(folder: Folder, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = Database(folder)
    with database.transaction():
        JobStore(database).add(DAEMON, [JobSpec("true", "/", held=True)], {})
    database.close()
    run_cli(words.split())
    assert open_files(folder) == []
