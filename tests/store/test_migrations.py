"""Opening the database: new, old, from the future, damaged, read-only, full, and by several at once."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from duckrow import store
from duckrow.core.errors import EXIT_FAILED, StateError
from duckrow.store.folder.state_folder import Folder
from duckrow.store.jobs.columns import LISTS
from duckrow.store.sqlite import connection
from duckrow.store.sqlite.connection import load_queries, migrations
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.version import LEAST_SQLITE, is_new_enough
from duckrow.store.tick import TickStores
from tests.store.shelf import Shelf

_QUERIES = Path(store.__file__).parent / "queries"


def whole_topics() -> list[str]:
    """Those whose statements are whole as they stand; parts of others are put together by their callers."""
    known = {*LISTS, "where", "order"}
    files = sorted(_QUERIES.glob("*.sql"))
    return [file.stem for file in files if set(re.findall(r"{(\w+)}", file.read_text())) <= known]


def version_of(folder: Folder) -> int:
    raw = sqlite3.connect(folder.database)
    try:
        return int(raw.execute("PRAGMA user_version").fetchone()[0])
    finally:
        raw.close()


def pretend_migrations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *scripts: str) -> None:
    """As in a later release, which has these beside the ones of today."""
    later = [f"{tmp_path}/9{number:03}_later.sql" for number in range(len(scripts))]
    for path, script in zip(later, scripts, strict=True):
        Path(path).write_text(script)
    today = migrations()
    monkeypatch.setattr(connection, "migrations", lambda: [*today, *later])


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [int(Path(path).name.split("_")[0]) for path in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


def test_a_fresh_database_has_the_newest_form(folder: Folder) -> None:
    Database(folder).close()
    assert version_of(folder) == len(migrations())


def test_a_database_of_every_form_still_opens_and_its_jobs_still_wait(tmp_path: Path) -> None:
    for form in range(1, len(migrations())):
        folder = Folder(tmp_path / str(form)).make()
        raw = sqlite3.connect(folder.database, isolation_level=None)
        for script in migrations()[:form]:
            raw.executescript(Path(script).read_text())
        raw.execute("INSERT INTO environments VALUES (1, '{}')")
        raw.execute(
            "INSERT INTO jobs (host_id, project, name, command, cwd, environment_id, shell, notice_s, grace_s, retries,"
            " backoff_s, priority, position, created_at, changed_at)"
            " VALUES (1, 'p', 'n', 'true', '/', 1, '/bin/sh', 30, 10, 0, 10, 30, 1, 0, 0)"
        )
        raw.execute(f"PRAGMA user_version = {form}")
        raw.close()
        database = Database(folder)
        assert [job.command for job in TickStores(database, 1).queue.eligible(10)] == ["true"]
        database.close()
        assert version_of(folder) == len(migrations())


def test_a_database_that_is_opened_again_has_what_it_had(folder: Folder, shelf: Shelf) -> None:
    shelf.add("echo a", "echo b")
    again = Database(folder)
    assert again.one("SELECT count(*) FROM jobs") == 2
    again.close()


def test_an_older_database_is_brought_up_to_date(
    folder: Folder, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.add("echo a")
    pretend_migrations(monkeypatch, tmp_path, "ALTER TABLE jobs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';")
    newer = Database(folder)
    assert newer.one("SELECT mood FROM jobs") == "calm"
    newer.close()
    assert version_of(folder) == len(migrations()) + 1


def test_a_migration_that_fails_changes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Database(folder).close()
    before = version_of(folder)
    pretend_migrations(monkeypatch, tmp_path, "CREATE TABLE moods (mood TEXT);", "CREATE TABEL oops;")
    with pytest.raises(StateError, match="syntax error"):
        Database(folder)
    assert version_of(folder) == before
    monkeypatch.undo()
    database = Database(folder)
    assert database.all("SELECT 1 FROM sqlite_master WHERE name = 'moods'") == []
    database.close()


def test_a_database_from_a_newer_version_is_refused_and_left_alone(folder: Folder) -> None:
    Database(folder).close()
    raw = sqlite3.connect(folder.database)
    raw.execute("PRAGMA user_version = 999")
    raw.close()
    with pytest.raises(StateError, match=r"written by a newer duckrow \(schema 999") as caught:
        Database(folder)
    assert "Upgrade duckrow, or choose another folder with DUCKROW_HOME." in str(caught.value)
    assert caught.value.exit_code == EXIT_FAILED
    assert version_of(folder) == 999


def test_a_sqlite_that_is_too_old_is_refused_with_what_to_do(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.22.0")
    with pytest.raises(StateError, match=f"has SQLite 3.22.0; duckrow needs {LEAST_SQLITE} or newer") as caught:
        Database(folder)
    assert "uv tool install --managed-python duckrow" in str(caught.value)
    assert not os.path.exists(folder.database)


def test_versions_of_sqlite_are_compared_as_numbers() -> None:
    assert is_new_enough("3.100.1")
    assert is_new_enough(LEAST_SQLITE)
    assert not is_new_enough("3.9.2")


def test_a_file_that_is_no_database_is_named_and_left_alone(folder: Folder) -> None:
    garbage = b"this is no database\n" * 1000
    Path(folder.database).write_bytes(garbage)
    with pytest.raises(StateError, match="is damaged") as caught:
        Database(folder)
    assert f"mv {folder.database} {folder.database}.damaged" in str(caught.value)
    assert Path(folder.database).read_bytes() == garbage


def test_a_database_with_torn_pages_is_told_as_damaged(folder: Folder) -> None:
    database = Database(folder)
    Shelf(database).add(*["echo " + "x" * 3000] * 50)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    size = os.path.getsize(folder.database)
    with open(folder.database, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StateError, match="is damaged"):
        Database(folder).all("SELECT * FROM jobs")


def test_a_database_that_cannot_be_written_says_what_to_check(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(folder.database).touch()
    really_connect = sqlite3.connect

    def connect_read_only(path: str, timeout: float, isolation_level: None) -> sqlite3.Connection:
        return really_connect(f"file:{path}?mode=ro", timeout=timeout, isolation_level=isolation_level, uri=True)

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)
    with pytest.raises(StateError, match=r"cannot be written\. Nothing was changed") as caught:
        Database(folder)
    assert f"Check the permissions and the disk of {folder.root}" in str(caught.value)


def test_a_write_to_a_read_only_database_is_told_plainly(shelf: Shelf) -> None:
    shelf.database.execute("PRAGMA query_only = ON")
    with pytest.raises(StateError, match=r"cannot be written\. Nothing was changed"):
        shelf.add("echo a")


def test_a_place_where_no_database_can_be_says_what_to_check(folder: Folder) -> None:
    os.mkdir(folder.database)
    with pytest.raises(StateError, match="unable to open database file") as caught:
        Database(folder)
    assert "DUCKROW_HOME" in str(caught.value)


def test_a_full_disk_is_told_plainly_and_changes_nothing(shelf: Shelf) -> None:
    shelf.add("echo a")
    pages = shelf.database.one("PRAGMA page_count")
    shelf.database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StateError, match=r"is full\. Nothing was changed"):
        shelf.add("echo " + "x" * 100_000)
    assert shelf.head() == [1]
    shelf.database.execute("PRAGMA max_page_count = 1000000")
    assert shelf.add("echo " + "x" * 100_000) == [2]


def test_a_database_that_stays_locked_is_told_plainly(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(folder).close()
    monkeypatch.setattr(connection, "BUSY_S", 0.01)
    busy, other = Database(folder), Database(folder)
    with busy.transaction(), pytest.raises(StateError, match="has been locked by another process"):
        Shelf(other).add("echo a")
    assert Shelf(other).add("echo a") == [1]
    busy.close()
    other.close()


def test_opening_and_reading_wait_for_no_writer(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Database(folder)
    Shelf(busy).add("echo a")
    monkeypatch.setattr(connection, "BUSY_S", 0.01)
    with busy.transaction():
        other = Database(folder)
        assert Shelf(other).head() == [1]
    busy.close()
    other.close()


def test_a_transaction_is_all_or_nothing(shelf: Shelf) -> None:
    def pause_and_fail() -> None:
        with shelf.database.transaction():
            shelf.database.execute("INSERT INTO pauses VALUES ('x', 0)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pause_and_fail()
    assert shelf.jobs.pauses() == []


def test_submitting_is_durable_and_ticking_need_not_be(folder: Folder) -> None:
    careful, quick = Database(folder), Database(folder, durable=False)
    assert (careful.one("PRAGMA synchronous"), quick.one("PRAGMA synchronous")) == (2, 1)
    assert careful.one("PRAGMA journal_mode") == "wal"
    careful.close()
    quick.close()


def test_one_connection_sees_that_another_has_written(folder: Folder, shelf: Shelf) -> None:
    other = Database(folder)
    shelf.database.changed_by_others()
    assert not shelf.database.changed_by_others()
    shelf.add("our own")
    assert not shelf.database.changed_by_others()
    Shelf(other).add("theirs")
    assert shelf.database.changed_by_others()
    assert not shelf.database.changed_by_others()
    other.close()


def test_the_files_of_the_database_are_private(folder: Folder, shelf: Shelf) -> None:
    shelf.add("echo secret")
    files = [path for path in Path(folder.root).iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"duckrow.db", "duckrow.db-wal"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.parametrize("topic", whole_topics())
def test_every_query_is_one_whole_statement(topic: str, shelf: Shelf) -> None:
    queries = load_queries(topic, LISTS)
    assert queries
    for name, query in queries.items():
        text = query.replace("{where}", "1").replace("{order}", "1")
        assert sqlite3.complete_statement(text + ";"), name
        values = dict.fromkeys(re.findall(r":(\w+)", text))
        parameters: Any = (None,) * text.count("?") if "?" in text else values
        shelf.database.execute(f"EXPLAIN {text}", parameters).fetchall()
