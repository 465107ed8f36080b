"""The log of the database is moved before it becomes large, and one who writes much learns that it should wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite import checkpoint
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from tests.conftest import DEADLINE_S


@pytest.fixture
def database(folder: Folder) -> Iterator[Database]:
    database = Database(folder, durable=False)
    yield database
    database.close()


def write(database: Database, rows: int) -> None:
    with database.transaction():
        database.execute_many("INSERT INTO wishes (job_id, wish, at) VALUES (?, 'kill', 0)", [(1,)] * rows)


def test_a_few_large_commits_are_moved_as_soon_as_many_small_ones(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_EVERY_ROWS", 100)
    moved = threading.Event()
    monkeypatch.setattr(Checkpointer, "_checkpoint", lambda _self, _how: moved.set())
    checkpointer = Checkpointer(database)
    write(database, 99)
    checkpointer.committed()
    assert not moved.is_set()
    write(database, 1)
    checkpointer.committed()
    assert moved.wait(DEADLINE_S)
    checkpointer.wait()


@pytest.mark.parametrize(("commits", "told"), [([10, 10], False), ([150], True)])
def test_who_writes_much_is_told_to_wait_while_a_large_log_is_moved_but_not_while_a_small_one_is(
    database: Database, monkeypatch: pytest.MonkeyPatch, commits: list[int], told: bool
) -> None:
    monkeypatch.setattr(checkpoint, "_EVERY_ROWS", 100)
    monkeypatch.setattr(checkpoint, "_EVERY_COMMITS", 2)
    begun, go_on = threading.Event(), threading.Event()

    def moves(_self: Checkpointer, _how: str) -> None:
        begun.set()
        go_on.wait(DEADLINE_S)

    monkeypatch.setattr(Checkpointer, "_checkpoint", moves)
    checkpointer = Checkpointer(database)
    for rows in commits:
        write(database, rows)
        checkpointer.committed()
    assert begun.wait(DEADLINE_S)
    assert checkpointer.is_moving_much == told
    go_on.set()
    checkpointer.wait()
    assert checkpointer.is_moving_much is False


def test_a_large_log_is_empty_after_a_run_so_that_the_next_run_finds_it_small(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_LARGE_BYTES", 10_000)
    write(database, 1000)
    log = f"{database.path}-wal"
    assert os.path.getsize(log) > 10_000
    Checkpointer(database).finish()
    assert os.path.getsize(log) == 0
    assert database.one("SELECT count(*) FROM wishes") == 1000


def test_a_run_that_ends_while_another_host_writes_leaves_the_log_to_that_one(
    database: Database, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_LARGE_BYTES", 10_000)
    write(database, 1000)
    other = Database(folder, durable=False)
    with other.transaction():
        Checkpointer(database).finish()
        other.execute("INSERT INTO wishes (job_id, wish, at) VALUES (1, 'kill', 0)")
    other.close()
    assert database.one("SELECT count(*) FROM wishes") == 1001
