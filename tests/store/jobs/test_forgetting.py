"""Forgetting jobs, and the space that is given back."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from duckrow.api.client import Client
from duckrow.api.jobs.clean import clean, old_jobs
from duckrow.core.jobs.job import JobSpec
from duckrow.scheduler.hosts.retention import Retention
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, HostStore
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.space import INCREMENTAL

DAY_S = 86400.0
LONG = "x" * 2000


def spec(name: str) -> JobSpec:
    return JobSpec(command=f"echo {name} {LONG}", cwd="/", name=name)


def add_done(folder: Folder, count: int, host_id: int = DAEMON, age_s: float = 10 * DAY_S, name: str = "old") -> None:
    """Jobs that have been done for so long, each with a folder."""
    database = Database(folder)
    with database.transaction():
        ids = JobStore(database).add(host_id, [spec(name)] * count, {"OF": name})
        statement = "UPDATE jobs SET state = 'done', outcome = 'succeeded', changed_at = ? WHERE id = ?"
        database.execute_many(statement, [(time.time() - age_s, job_id) for job_id in ids])
    for job_id in list(ids)[:10]:
        os.makedirs(folder.run_folder("default", name, job_id))
    database.close()


def names_left(folder: Folder) -> list[str]:
    database = Database(folder)
    names = [row[0] for row in database.all("SELECT DISTINCT name FROM jobs ORDER BY name")]
    database.close()
    return names


def size_of(folder: Folder) -> int:
    return sum(path.stat().st_size for path in Path(folder.root).glob("duckrow.db*"))


def test_clean_gives_the_space_back_with_the_variables_that_nobody_has_any_more(folder: Folder) -> None:
    empty = size_of(folder)
    add_done(folder, 4000)
    add_done(folder, 1, name="young", age_s=0.0)
    assert size_of(folder) > empty + (8 << 20)
    client = Client(folder)
    assert len(clean(client, old_jobs(client, DAY_S))) == 4000
    client.close()
    assert size_of(folder) < empty + (6 << 20)
    assert names_left(folder) == ["young"]
    assert not os.path.exists(folder.run_folder("default", "old", 1))


def test_clean_makes_a_database_of_an_earlier_release_small_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path).make()
    connection = sqlite3.connect(folder.database)
    connection.execute("CREATE TABLE made_first (x)")  # from now on auto_vacuum can only be changed by a copy
    connection.close()
    add_done(folder, 4000)
    assert mode_of(folder) == 0
    client = Client(folder)
    clean(client, old_jobs(client, DAY_S))
    client.close()
    assert size_of(folder) < 2 << 20
    assert mode_of(folder) == INCREMENTAL


def mode_of(folder: Folder) -> int:
    database = Database(folder)
    mode = int(database.one("PRAGMA auto_vacuum"))
    database.close()
    return mode


def test_clean_lets_others_write_meanwhile(folder: Folder) -> None:
    add_done(folder, 2000)
    other, waits = Database(folder), []
    client = Client(folder)

    def another_writes(_took_s: float) -> None:
        began = time.monotonic()
        with other.transaction():
            other.execute("UPDATE meta SET value = value")
        waits.append(time.monotonic() - began)

    from duckrow.store.jobs.forgetting import Forgetting

    assert len(Forgetting(client.database, rest=another_writes).forget(old_jobs(client, DAY_S))) == 2000
    assert len(waits) >= 4
    client.close()
    other.close()


def test_the_daemon_forgets_what_is_older_than_it_should_keep_and_nothing_that_is_needed(folder: Folder) -> None:
    database = Database(folder)
    hosts = HostStore(database)
    over, unfinished = hosts.add_run("over", "", ""), hosts.add_run("unfinished", "", "")
    with database.transaction():
        JobStore(database).add(unfinished, [spec("waits")], {})
    add_done(folder, 250)
    add_done(folder, 3, host_id=over, name="of-a-run")
    add_done(folder, 3, host_id=unfinished, name="to-be-resumed")
    add_done(folder, 3, name="young", age_s=0.0)
    add_done(folder, 1, name="point")
    with database.transaction():
        database.execute("INSERT INTO sweeps VALUES (1, 'default', 's', '/', 'p', 0)")
        database.execute("INSERT INTO points SELECT id, 1, 'k', '{}' FROM jobs WHERE name = 'point'")
    database.close()
    assert Retention(folder, DAY_S, lambda sentence: None).forget_old() == 253
    assert names_left(folder) == ["point", "to-be-resumed", "waits", "young"]
    assert Retention(folder, DAY_S, lambda sentence: None).forget_old() == 0


def test_variables_of_a_new_job_never_get_the_number_of_forgotten_ones(folder: Folder) -> None:
    """A host reads the variables of a number once."""
    add_done(folder, 1, name="first")
    add_done(folder, 1, name="second")
    client = Client(folder)
    clean(client, old_jobs(client, DAY_S))
    newest = client.database.one("SELECT max(id) FROM environments")
    with client.database.transaction():
        client.jobs.add(DAEMON, [spec("third")], {"OF": "third"})
    assert client.database.one("SELECT environment_id FROM jobs") > newest
    client.close()
