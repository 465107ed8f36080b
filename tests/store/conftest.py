"""A state folder of its own for each test, and what stands in its database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "state").make()


@pytest.fixture
def shelf(folder: Folder) -> Iterator[Shelf]:
    database = Database(folder)
    yield Shelf(database)
    database.close()
