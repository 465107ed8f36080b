"""When what was written is moved from SQLite's log into the database."""

from __future__ import annotations

import os

import pytest

from duckrow.store.sqlite.checkpoint import Checkpointer
from tests.store.shelf import Shelf


@pytest.mark.parametrize(("rows", "is_moved"), [(10, False), (300, True)])
def test_a_commit_of_many_rows_is_moved_at_once_so_that_the_log_does_not_grow(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, rows: int, is_moved: bool
) -> None:
    monkeypatch.setattr("duckrow.store.sqlite.checkpoint._EVERY_ROWS", 200)
    shelf.database.write_all()
    checkpointer = Checkpointer(shelf.database)
    before = os.path.getsize(shelf.database.path)
    shelf.add(*["true"] * rows, cwd="/" + "long" * 100)
    checkpointer.committed()
    checkpointer.wait()
    assert (os.path.getsize(shelf.database.path) > before) == is_moved
