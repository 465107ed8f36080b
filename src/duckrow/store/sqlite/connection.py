"""Opening the database: settings, migrations, and errors that a person can act on."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from duckrow.core.errors import StateError, UsageError
from duckrow.core.life.states import Outcome, State
from duckrow.store.folder.state_folder import Folder, permission_hint
from duckrow.store.sqlite.version import is_new_enough, refusal

_STORE = os.path.dirname(os.path.dirname(__file__))
BUSY_S = 30.0

# Known words go in as text at once; else SQLite looks for a way to convert each, which takes as long as the write.
for _words in (State, Outcome):
    sqlite3.register_adapter(_words, str.__str__)


def load_queries(topic: str, lists: Mapping[str, str] | None = None) -> dict[str, str]:
    """The statements of `queries/<topic>.sql` by their names. `lists`: what `{names}` in them stand for."""
    with open(f"{_STORE}/queries/{topic}.sql") as file:
        text = file.read()
    for name, columns in (lists or {}).items():
        text = text.replace(f"{{{name}}}", columns)
    blocks = [block.split("\n", 1) for block in text.split("-- name: ")[1:]]
    return {name.strip(): statement.strip() for name, statement in blocks}


def migrations() -> list[str]:
    folder = f"{_STORE}/migrations"
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".sql")]


def connect(path: str, *, durable: bool, temporary: bool = False) -> sqlite3.Connection:
    """An open database with the newest schema. `durable`: a commit is on disk when it returns.

    Without `durable`, a commit survives every crash of duckrow, but perhaps not a power failure. `temporary`: nobody
    reads it after a power failure, so SQLite never waits for the disk.
    """
    if not is_new_enough(sqlite3.sqlite_version):
        raise StateError(refusal(sqlite3.sqlite_version))
    with told_plainly(path):
        try:
            connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise StateError(f"The database {path} cannot be opened: {error}. {_hint(path)}") from None
        try:
            _prepare(connection, path, durable, "FULL" if durable else "OFF" if temporary else "NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: str, durable: bool, synchronous: str) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    if not durable:
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # a host has a Checkpointer for that
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    newest = len(migrations())
    if version > newest:
        raise StateError(
            f"The database {path} was written by a newer duckrow (schema {version}; this one knows up to "
            f"{newest}). Upgrade duckrow, or choose another folder with DUCKROW_HOME."
        )
    if version < newest:
        _migrate(connection, path)


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    os.chmod(path, 0o600)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # for a new database: it can shrink a little at a time
    _use_wal(connection)
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done it while we waited for the lock.
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    try:
        for number, script in enumerate(migrations()[version:], start=version + 1):
            with open(script) as file:
                for statement in _statements(file.read()):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait if another process runs this statement at the same moment, so we wait ourselves."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _statements(script: str) -> Iterator[str]:
    """One statement at a time: `executescript` would commit the transaction around it."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


@contextmanager
def told_plainly(path: str) -> Iterator[None]:
    """Turn SQLite's errors into messages for people."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StateError(explain(error, path)) from error
    except OverflowError:
        raise UsageError("One of the numbers is too large. Nothing was changed.") from None


def explain(error: sqlite3.DatabaseError, path: str) -> str:
    text = str(error)
    if "is full" in text:
        return f"The disk of {path} is full. Nothing was changed. Make room; duckrow then continues by itself."
    if "readonly" in text or "read-only" in text:
        return f"The database {path} cannot be written. Nothing was changed. {_hint(path)}"
    if "locked" in text:
        return f"The database {path} has been locked by another process for {BUSY_S:.0f} s. Try again."
    if "UNIQUE constraint failed: points" in text:
        return "Another command has added runs of the same sweep at this moment. Nothing was added; try again."
    if "malformed" in text or "not a database" in text:
        return (
            f"The database {path} is damaged ({text}). Nothing was changed. To start again, move it away "
            f"(mv {path} {path}.damaged). Logs and run folders are kept."
        )
    return f"The database {path} cannot be used: {text}."


def _hint(path: str) -> str:
    return permission_hint(Folder(os.path.dirname(path)))
