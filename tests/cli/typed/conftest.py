"""The program, typed in this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.store.folder.state_folder import Folder
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.scheduler.conftest import new_database

__all__ = ["new_database"]


@pytest.fixture
def duckrow(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DryDuckrow]:
    monkeypatch.setenv(GPU_LOCKS, str(tmp_path / "locks"))  # the GPUs of other tests are not ours
    home = tmp_path / "state"
    shutil.copy(new_database, Folder(str(home)).make().database)
    with DryDuckrow(home, tmp_path / "work").in_place(monkeypatch) as program:
        yield program
