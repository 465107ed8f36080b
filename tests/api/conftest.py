"""A client over a database of its own, without a daemon: nobody starts a job, and none is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.api.session import Session
from duckrow.store.folder.state_folder import Folder
from tests.api.quiet_queue import QuietQueue
from tests.scheduler.conftest import new_database

__all__ = ["new_database"]


@pytest.fixture
def queue(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[QuietQueue]:
    monkeypatch.setattr(Session, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Session, "settle", lambda _self: None)
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))  # no SLURM, no git
    monkeypatch.chdir(tmp_path)
    folder = Folder(str(tmp_path / "state")).make()
    shutil.copy(new_database, folder.database)
    made = QuietQueue(folder)
    yield made
    made.close()
