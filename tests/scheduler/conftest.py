"""Queues over a machine on which nothing runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database
from tests.scheduler.language import Queue, slots

MakeQueue = Callable[..., Queue]


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One that is copied for each test: to make one takes longer than most tests."""
    folder = Folder(str(tmp_path_factory.mktemp("new") / "home")).make()
    Database(folder).close()
    return folder.database


@pytest.fixture
def make_queue(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeQueue]:
    monkeypatch.setenv(GPU_LOCKS, str(tmp_path / "locks"))  # the GPUs of other tests are not ours
    made: list[Queue] = []
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)

    def make(*given: Any, **more: Any) -> Queue:
        made.append(Queue(tmp_path / "home", *given, **more))
        return made[-1]

    yield make
    for queue in made:
        queue.close()


@pytest.fixture
def queue(make_queue: MakeQueue) -> Queue:
    """With a daemon that has one slot."""
    return make_queue(slots(1))
