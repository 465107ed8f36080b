"""Queues over a machine on which nothing runs."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import duckrow
from duckrow.core import quick_dataclass
from duckrow.core.jobs import attempt
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler import state
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database
from tests.scheduler.language import Queue, slots

MakeQueue = Callable[..., Queue]


_OURS = str(Path(duckrow.__file__).parent)


def _changed_only_by(*homes: str | None) -> Callable[[object, str, Any], None]:
    """A `__setattr__` that tells who of duckrow writes past the moves of a class; tests may write what they like."""

    def write(self: object, name: str, value: Any) -> None:
        writer = sys._getframe(1).f_code.co_filename
        assert not writer.startswith(_OURS) or writer in homes, f"{writer} writes `{name}` past the moves of {self}"
        object.__setattr__(self, name, value)

    return write


def _parts_of_a_state() -> list[type]:
    homes = [importlib.import_module(f"{state.__name__}.{each.name}") for each in pkgutil.iter_modules(state.__path__)]
    return [
        part
        for home in homes
        for part in vars(home).values()
        if isinstance(part, type) and part.__module__ == home.__name__ and not issubclass(part, tuple)
    ]


@pytest.fixture(scope="session", autouse=True)
def _only_their_own_moves_change_attempts_and_states() -> Iterator[None]:
    """Whatever a test of the scheduler plays shows it too."""
    patch = pytest.MonkeyPatch()
    patch.setattr(LiveAttempt, "__setattr__", _changed_only_by(attempt.__file__, quick_dataclass.__file__))
    for part in _parts_of_a_state():
        patch.setattr(part, "__setattr__", _changed_only_by(sys.modules[part.__module__].__file__))
    yield
    patch.undo()


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
