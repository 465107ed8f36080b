"""The log of the database is moved before it becomes large, and one who writes much learns that it should wait."""

from __future__ import annotations

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
    monkeypatch.setattr(Checkpointer, "_checkpoint", lambda _self: moved.set())
    checkpointer = Checkpointer(database)
    write(database, 99)
    checkpointer.committed()
    assert not moved.is_set()
    write(database, 1)
    checkpointer.committed()
    assert moved.wait(DEADLINE_S)
    checkpointer.wait()


def test_one_is_behind_only_if_much_was_written_while_it_is_moved(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_EVERY_ROWS", 100)
    go_on = threading.Event()
    monkeypatch.setattr(Checkpointer, "_checkpoint", lambda _self: go_on.wait(DEADLINE_S))
    checkpointer = Checkpointer(database)
    behind = []
    for rows in (150, 50, 100):
        write(database, rows)
        checkpointer.committed()
        behind.append(checkpointer.is_behind)
    go_on.set()
    checkpointer.wait()
    assert [*behind, checkpointer.is_behind] == [False, False, True, False]
