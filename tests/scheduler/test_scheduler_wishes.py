"""Wishes of several jobs at a time: to fulfil one may move the job of the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from duckrow.core.lifecycle import Outcome
from duckrow.scheduler.loop import Loop
from duckrow.scheduler.wishes import fulfil_wishes
from duckrow.store.control import ControlStore
from duckrow.store.database import Database
from duckrow.store.dependencies import DependencyStore
from duckrow.store.folder import Folder
from duckrow.store.hosts import DAEMON
from tests.store.shelf import Shelf, at


class DaemonWithoutProcesses:
    """What of a loop is touched when no job of the wishes runs."""

    def __init__(self, shelf: Shelf) -> None:
        self.store = shelf.tick
        self.live: dict[int, object] = {}
        self.host = self
        self.id = DAEMON
        self.looked_again = False
        self.observer = self
        self.troubles: list[str] = []

    def trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)

    def is_alive(self, host_id: int) -> bool:
        return host_id == DAEMON

    def look_again(self) -> None:
        self.looked_again = True


@pytest.fixture
def shelf(tmp_path: str) -> Iterator[Shelf]:
    database = Database(Folder(f"{tmp_path}/home").make())
    shelf = Shelf(database)
    shelf.add("first", "second", "third")
    with database.transaction():
        for job_id in (2, 3):
            ControlStore(database).add_dependencies([job_id], [(before, "ok") for before in range(1, job_id)])
    yield shelf
    database.close()


def fulfil(shelf: Shelf) -> list[str]:
    with shelf.database.transaction():
        fulfil_wishes(cast(Loop, DaemonWithoutProcesses(shelf)), at(2000.0))
    assert shelf.jobs.wished() == set()
    return [row.outcome or row.state for row in shelf.jobs.pick()]


def test_jobs_that_wait_for_each_other_are_killed_at_a_time(shelf: Shelf) -> None:
    shelf.jobs.wish([1, 2, 3], "kill")
    assert fulfil(shelf) == ["killed", "killed", "killed"]


def test_a_waiting_job_that_is_killed_twice_is_killed(shelf: Shelf) -> None:
    shelf.jobs.wish([3, 3], "kill")
    assert fulfil(shelf) == ["queued", "queued", "killed"]


def test_jobs_that_wait_for_each_other_are_rerun_at_a_time(shelf: Shelf) -> None:
    shelf.finish(shelf.run(1), Outcome.FAILED)
    shelf.jobs.wish([1, 2, 3], "rerun")
    assert fulfil(shelf) == ["queued", "queued", "queued"]


def test_a_wish_that_cannot_be_fulfilled_is_set_aside_and_the_others_are_fulfilled(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_settle = DependencyStore.settle

    def wrongly_settle(store: DependencyStore, job_id: int, outcome: Outcome) -> tuple[bool, list[tuple[int, str]]]:
        """As a fault in a rule would: it names a job that is done."""
        waited, broken = really_settle(store, job_id, outcome)
        return waited, [*broken, (1, "wrong")] if job_id == 2 else broken

    shelf.add("fourth")
    shelf.finish(shelf.run(1), Outcome.SUCCEEDED)
    shelf.jobs.wish([2, 4], "kill")
    monkeypatch.setattr(DependencyStore, "settle", wrongly_settle)
    daemon = DaemonWithoutProcesses(shelf)
    with shelf.database.transaction():
        fulfil_wishes(cast(Loop, daemon), at(2000.0))
    assert shelf.jobs.wished() == set()
    assert [row.outcome or row.state for row in shelf.jobs.pick()] == ["succeeded", "queued", "queued", "killed"]
    (said,) = daemon.troubles
    assert said.startswith("The wish to kill job 2 cannot be fulfilled, and was set aside. Job 1 ")
