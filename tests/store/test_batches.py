"""Batches are not hosts: they have their own table, in a migrated database too."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.states import State
from duckrow.store.batch_runs import BatchRunStore
from duckrow.store.batches import BatchStore, RunOfBatch, Standing
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.columns import LISTS
from duckrow.store.jobs.forgetting import Forgetting
from duckrow.store.sqlite.connection import load_queries, migrations
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.read_only import Look
from duckrow.store.tick import TickStores
from tests.store.shelf import Shelf
from tests.store.test_known_states import NEW_JOB

_SCRIPT = next(path for path in migrations() if path.endswith("_batches.sql") and "0006" not in path)
_BEFORE = migrations()[: migrations().index(_SCRIPT)]
RUNNING = {"number": 1, "started_at": 5.0, "devices": ["0"], "pid": 1, "log": "x"}


@pytest.fixture
def batches(shelf: Shelf) -> BatchStore:
    return BatchStore(shelf.database)


def a_batch(shelf: Shelf, *commands: str, name: str = "mine") -> int:
    store = BatchStore(shelf.database)
    with shelf.database.transaction():
        batch_id = store.add(name, f"/shared/{name}")
        store.add_runs(batch_id, [JobSpec(command, "/work") for command in commands], {})
    return batch_id


def database_of_before(folder: Folder) -> sqlite3.Connection:
    raw = sqlite3.connect(folder.database, isolation_level=None)
    for script in _BEFORE:
        raw.executescript(Path(script).read_text())
    raw.execute("INSERT INTO environments VALUES (1, '{}')")
    raw.execute(f"PRAGMA user_version = {len(_BEFORE)}")
    return raw


def with_two_batches(folder: Folder) -> None:
    """Host 2 is a run, 3 a batch that is done, 4 one of which run 0 goes on and run 1 waits."""
    raw = database_of_before(folder)
    raw.execute("INSERT INTO hosts (kind, name, started_at) VALUES ('run', 'mine', 1)")
    folders = [(b"/shared/caf\xe9", 7.0), ("/shared/open", None)]
    for (place, ended_at), name in zip(folders, ("done", "open"), strict=True):
        values = (name, place, ended_at)
        raw.execute("INSERT INTO hosts (kind, name, source, started_at, ended_at) VALUES ('slurm', ?, ?, 3, ?)", values)
    for job_id, (host_id, state) in enumerate([(1, "queued"), (3, "done"), (4, "running"), (4, "queued")], start=1):
        raw.execute(NEW_JOB, (state, "succeeded" if state == "done" else None))
        raw.execute("UPDATE jobs SET host_id = ? WHERE id = ?", (host_id, job_id))
    raw.executemany("INSERT INTO batch_runs VALUES (?, ?, ?)", [(2, 3, 0), (3, 4, 0), (4, 4, 1)])
    attempt = (
        "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at) VALUES (?, 1, ?, '', ?, '', 0)"
    )
    raw.execute(attempt, (3, 4, '[["0", 1000000]]'))
    raw.execute("UPDATE jobs SET attempts = 1 WHERE id = 3")
    standing = json.dumps(Standing("somebody has cancelled all", ["7_0"]))
    raw.execute("INSERT INTO meta VALUES ('slurm batch 4', ?)", (standing,))
    raw.execute("INSERT INTO meta VALUES ('slurm asked', '[1.0, 2.0]')")
    raw.close()


def test_the_batches_of_an_older_database_are_found_again(folder: Folder) -> None:
    with_two_batches(folder)
    shelf = Shelf(Database(folder))
    store = BatchStore(shelf.database)
    done, still_open = store.all()
    assert (done.id, done.name, done.folder, done.created_at, done.closed_at) == (3, "done", "/shared/caf\udce9", 3, 7)
    assert (still_open.id, still_open.folder, still_open.closed_at) == (4, "/shared/open", None)
    assert store.open() == [still_open]
    assert store.of_jobs([1, 2, 3, 4]) == {2: RunOfBatch(3, 0), 3: RunOfBatch(4, 0), 4: RunOfBatch(4, 1)}
    assert [(run.job_id, run.state) for run in store.runs(4)] == [(3, State.RUNNING), (4, State.QUEUED)]
    assert store.standings() == {4: Standing("somebody has cancelled all", ["7_0"], {}, {})}
    assert store.last_asked("asked") == (1.0, 2.0)
    assert [host.id for host in shelf.hosts.all()] == [1, 2]
    assert [job.host_name for job in shelf.jobs.pick()] == ["daemon", "done", "open", "open"]
    shelf.database.close()


def test_what_goes_on_in_a_batch_of_an_older_database_holds_nothing_here(folder: Folder) -> None:
    with_two_batches(folder)
    database = Database(folder)
    stores = TickStores(database, DAEMON)
    assert stores.reservations.of_other_hosts() == []
    assert stores.attempts.live() == []
    assert [job.id for job in stores.queue.eligible(10)] == [1]
    database.close()


def test_jobs_and_attempts_are_not_copied_however_many_there_are(folder: Folder) -> None:
    raw = database_of_before(folder)
    raw.execute("BEGIN")
    raw.executemany(NEW_JOB, [("queued", None)] * 5000)
    raw.execute("COMMIT")
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.close()
    database = Database(folder)
    assert database.one("PRAGMA page_count") - pages < 10 < pages
    database.close()


def test_every_reference_in_the_database_names_a_row(shelf: Shelf, batches: BatchStore) -> None:
    a_batch(shelf, "true")
    shelf.add("true")
    assert shelf.database.all("PRAGMA foreign_key_check") == []


def test_a_batch_is_no_host(shelf: Shelf, batches: BatchStore) -> None:
    batch_id = a_batch(shelf, "a")
    run_id = shelf.hosts.add_run("a run", "/", "")
    assert [host.id for host in shelf.hosts.all()] == [DAEMON, run_id]
    assert shelf.hosts.open_hosts() == []
    assert shelf.hosts.runs_among([DAEMON, batch_id, run_id]) == {run_id}
    assert list(batches.among([DAEMON, batch_id, run_id])) == [batch_id]
    assert shelf.hosts.run_named("mine") is None
    with pytest.raises(IndexError):
        shelf.hosts.get(batch_id)


def test_what_goes_on_in_a_batch_holds_nothing_here(shelf: Shelf, batches: BatchStore) -> None:
    batch_id = a_batch(shelf, "a")
    with shelf.database.transaction():
        BatchRunStore(shelf.database).saw_running(batch_id, batches.runs(batch_id)[0], RUNNING, "")
    assert batches.runs(batch_id)[0].state is State.RUNNING
    assert shelf.tick.reservations.of_other_hosts() == []
    assert shelf.tick.attempts.live() == []
    assert list(shelf.jobs.live()) == []
    look = Look(shelf.database.folder)
    assert look.unwatched([]) == 0
    shelf.add("b")
    shelf.run(2)
    assert look.unwatched([]) == 1
    look.close()


@pytest.mark.parametrize(("topic", "name"), [("jobs", "live"), ("attempts", "live_attempts_of_hosts")])
def test_what_goes_on_is_found_without_reading_all_attempts_that_there_were(
    shelf: Shelf, topic: str, name: str
) -> None:
    statement = load_queries(topic, LISTS)[name]
    plan = shelf.database.all(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(("wall", "mono", "boot")))
    of_attempts = [row["detail"] for row in plan if "attempts" in row["detail"]]
    assert of_attempts
    assert all("attempts_live" in detail for detail in of_attempts)


def test_a_batch_is_open_until_it_is_closed_and_can_be_opened_again(shelf: Shelf, batches: BatchStore) -> None:
    assert not batches.any()
    batch_id = a_batch(shelf, "a")
    assert batches.any_open()
    with shelf.database.transaction():
        batches.note_standing(batch_id, Standing("it stands"))
        batches.close(batch_id)
    assert (batches.any(), batches.any_open(), batches.standings()) == (True, False, {})
    assert [batch.id for batch in batches.latest_closed()] == [batch_id]
    with shelf.database.transaction():
        batches.reopen(batch_id)
    assert batches.standings()[batch_id].still == "it stands"
    assert batches.get(batch_id).closed_at is None


def test_a_batch_that_is_forgotten_leaves_nothing_and_its_number_is_not_given_again(
    shelf: Shelf, batches: BatchStore
) -> None:
    first = a_batch(shelf)
    with shelf.database.transaction():
        batches.forget(first)
    assert (batches.any(), shelf.database.one("SELECT count(*) FROM hosts")) == (False, 1)
    assert a_batch(shelf) != first


def test_runs_of_batches_are_not_forgotten_by_age(shelf: Shelf, batches: BatchStore) -> None:
    a_batch(shelf, "a")
    shelf.add("b")
    shelf.change("UPDATE jobs SET state = 'done', outcome = 'failed', changed_at = 1")
    assert list(Forgetting(shelf.database).done_before(2.0)) == [[2]]


def test_no_question_is_asked_about_a_kind_that_is_a_batch() -> None:
    topics = [path.stem for path in Path(_SCRIPT).parent.parent.joinpath("queries").glob("*.sql")]
    asked = [(topic, name) for topic in topics for name, text in load_queries(topic).items() if "'slurm'" in text]
    assert asked == []
