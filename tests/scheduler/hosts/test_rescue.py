"""A database that was removed while it was in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.jobs.job import JobSpec
from duckrow.scheduler.hosts.rescue import rescue
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.before_opening import RESCUED
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.database_files import file_id


class Used:
    """A database with a job that is only in its log."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = Database(Folder(str(home)).make(), durable=False)
        with self.database.transaction():
            JobStore(self.database).add(DAEMON, [JobSpec("true", "/")], {})
        self.path = Path(self.database.path)
        self.root = file_id(str(home))
        self.fd = os.open(self.path, os.O_RDONLY)

    def rescue(self) -> str:
        return rescue(self.database, self.fd, self.root)


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Used]:
    database = Used(tmp_path / "home")
    yield database
    database.database.close()
    os.close(database.fd)


def jobs_in(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM jobs").fetchone()[0])
    finally:
        connection.close()


def test_one_that_was_removed_is_saved_with_all_that_was_in_its_log(used: Used) -> None:
    used.path.unlink()
    said = used.rescue()
    saved = Path(f"{used.path}{RESCUED}")
    assert said == f"All jobs were saved: mv {saved} {used.path}, then duckrow up, brings them back."
    assert jobs_in(saved) == 1
    assert saved.stat().st_mode & 0o777 == 0o600
    assert not [path for path in used.home.iterdir() if path.name.startswith("duckrow.db-")], "logs of no database"


def test_one_that_was_moved_is_complete_where_it_is_now(used: Used) -> None:
    used.path.rename(used.home / "elsewhere.db")
    assert used.rescue() == ""
    assert jobs_in(used.home / "elsewhere.db") == 1
    assert not Path(f"{used.path}{RESCUED}").exists()


def test_if_the_whole_folder_was_removed_it_stays_so(used: Used) -> None:
    shutil.rmtree(used.home)
    assert used.rescue() == "Its jobs are forgotten."
    assert not used.home.exists()


def test_what_cannot_be_saved_is_told(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_words: object) -> None:
        raise OSError(28, "No space left on device")

    used.path.unlink()
    monkeypatch.setattr(os, "replace", refuse)
    assert used.rescue() == "Its jobs could not be saved: [Errno 28] No space left on device"
    assert [path.name for path in used.home.glob("*rescued*")] == []
