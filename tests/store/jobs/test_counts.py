"""How many jobs there are: always right, whoever writes, and known without reading them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import Outcome, State
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.counts import CountStore
from duckrow.store.jobs.listing import ListingStore
from duckrow.store.jobs.waiting import WaitingStore
from duckrow.store.sqlite.connection import migrations
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf

_ASKED = (
    Filter(),
    Filter(project="b"),
    Filter(failed=True),
    Filter(statuses=["queued", "failed"]),
    Filter(statuses=["done"], project="a"),
    Filter(not_of_hosts=[2]),
    Filter(not_of_hosts=[2], project="a"),
)


def read_one_by_one(database: Database, filter: Filter) -> dict[str, int]:
    """The same by a filter that no count answers: all jobs have a name."""
    asked = Filter(filter.statuses, filter.project, "*", failed=filter.failed, not_of_hosts=filter.not_of_hosts)
    return CountStore(database).tally(asked)


def queue_of_all_kinds(shelf: Shelf) -> int:
    """Jobs of two projects and two hosts that wait for a device, a person, a time or another job."""
    run = shelf.hosts.add_run("sweep", "/", "")
    for project in ("a", "b"):
        for host_id in (DAEMON, run):
            for fields in ({}, {"held": True}, {"not_before": 2e9}, {"priority": 50}, {"delay_s": 60.0}):
                shelf.add(*["true"] * 3, host_id=host_id, project=project, **fields)
    with shelf.database.transaction():
        ControlStore(shelf.database).add_dependencies([2, 17], [(1, "ok")])
    shelf.change("UPDATE jobs SET position = 0.5 WHERE id IN (8, 30)")
    return run


class Life:
    """Anything that can happen to jobs, at random."""

    def __init__(self, shelf: Shelf, seed: int) -> None:
        self._shelf = shelf
        self._random = random.Random(seed)

    def go_on(self) -> None:
        job_id = self._random.randint(1, 70)
        deeds: list[Callable[[int], None]] = [self.run, self.rerun, self.remove, self.kill, self.move_to_project]
        self._random.choice(deeds)(job_id)

    def run(self, job_id: int) -> None:
        if job_id in self._shelf.head():
            attempt = self._shelf.run(job_id)
            if self._random.random() < 0.7:
                self._shelf.finish(attempt, self._random.choice(list(Outcome)))

    def kill(self, job_id: int) -> None:
        with self._shelf.database.transaction():
            self._shelf.tick.moves.skip_queued([job_id], 1.0, "")

    def rerun(self, job_id: int) -> None:
        if self._shelf.database.one("SELECT state FROM jobs WHERE id = ?", (job_id,)) == State.DONE:
            with self._shelf.database.transaction():
                self._shelf.tick.moves.requeue(job_id, State.DONE, 0, 1.0, "")

    def remove(self, job_id: int) -> None:
        if self._random.random() < 0.3:
            ControlStore(self._shelf.database).remove([job_id])

    def move_to_project(self, job_id: int) -> None:
        self._shelf.change("UPDATE jobs SET project = ? WHERE id = ?", self._random.choice("abc"), job_id)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_to_jobs_their_counts_are_what_one_would_count(shelf: Shelf, seed: int) -> None:
    queue_of_all_kinds(shelf)
    life = Life(shelf, seed)
    for _ in range(60):
        life.go_on()
    for filter in _ASKED:
        assert CountStore(shelf.database).tally(filter) == read_one_by_one(shelf.database, filter), filter
    for project, counts in CountStore(shelf.database).by_project().items():
        assert counts == read_one_by_one(shelf.database, Filter(project=project))


def test_jobs_of_a_database_from_before_are_counted(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "old").make()
    raw = sqlite3.connect(folder.database)
    before = [path for path in migrations() if Path(path).name < "0015"]
    for script in before:
        raw.executescript(Path(script).read_text())
    raw.execute("INSERT INTO environments VALUES (1, '{}')")
    for project, state, outcome in (("a", "queued", None), ("a", "done", "failed"), ("b", "done", "failed")):
        raw.execute(
            "INSERT INTO jobs (host_id, project, name, command, cwd, environment_id, shell, notice_s, grace_s, retries,"
            " backoff_s, priority, position, created_at, changed_at, state, outcome)"
            " VALUES (1, ?, 'n', 'true', '/', 1, '/bin/sh', 30, 10, 0, 10, 30, 1, 0, 0, ?, ?)",
            (project, state, outcome),
        )
    raw.execute(f"PRAGMA user_version = {len(before)}")
    raw.commit()
    raw.close()
    database = Database(folder)
    assert CountStore(database).by_project() == {"a": {"queued": 1, "failed": 1}, "b": {"failed": 1}}
    database.close()


def test_jobs_that_wait_are_listed_in_the_order_of_the_queue_whatever_they_wait_for(shelf: Shelf) -> None:
    run = queue_of_all_kinds(shelf)
    ordered = "SELECT id FROM jobs WHERE {} ORDER BY priority DESC, position"
    everything = [row[0] for row in shelf.database.all(ordered.format("1"))]
    of_daemon = [row[0] for row in shelf.database.all(ordered.format(f"host_id <> {run} AND project = 'b'"))]
    store = ListingStore(shelf.database)

    def listed(filter: Filter, limit: int, skip: int) -> list[int]:
        return list(store.most_worth_seeing(filter, limit, skip))

    assert [host.id for host in WaitingStore(shelf.database).hosts()] == [DAEMON, run]
    assert listed(Filter(), -1, 0) == everything
    assert [job for skip in range(0, 70, 7) for job in listed(Filter(), 7, skip)] == everything
    assert listed(Filter(not_of_hosts=[run], project="b"), -1, 0) == of_daemon
    assert listed(Filter(statuses=["failed"]), -1, 0) == []


def test_so_many_hosts_that_sqlite_could_not_read_their_queues_side_by_side(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue_of_all_kinds(shelf)
    before = ListingStore(shelf.database).most_worth_seeing(Filter(), 20, 3)
    monkeypatch.setattr("duckrow.store.jobs.waiting._MOST_HOSTS", 1)
    assert ListingStore(shelf.database).most_worth_seeing(Filter(), 20, 3) == before


@pytest.mark.parametrize(
    "look",
    [
        lambda database: ListingStore(database).most_worth_seeing(Filter(), 10, 0),
        lambda database: ListingStore(database).most_worth_seeing(Filter(not_of_hosts=[2]), 10, 0),
        lambda database: CountStore(database).tally(Filter()),
        lambda database: CountStore(database).tally(Filter(failed=True, project="default")),
        lambda database: CountStore(database).by_project(),
        lambda database: WaitingStore(database).hosts(),
        lambda database: WaitingStore(database).any_unheld(DAEMON),
    ],
)
def test_a_look_costs_as_much_with_many_jobs_as_with_few(shelf: Shelf, look: Callable[[Database], object]) -> None:
    """Counted in steps of SQLite's machine."""
    costs = []
    for count in (50, 1000):
        shelf.add(*["true"] * count)
        shelf.add(*["true"] * count, held=True)
        shelf.change("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id % 4 = 0")
        steps: list[int] = []
        shelf.database._connection.set_progress_handler(lambda steps=steps: steps.append(1), 10)  # type: ignore[misc]
        look(shelf.database)
        shelf.database._connection.set_progress_handler(None, 0)
        costs.append(len(steps))
    few, many = costs
    assert many <= few + 2
