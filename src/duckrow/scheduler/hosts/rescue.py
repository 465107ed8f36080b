"""Saves a database that was removed while we had it open."""

from __future__ import annotations

import os

from duckrow.core.errors import StateError
from duckrow.store.sqlite.before_opening import RESCUED
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.database_files import FileId, file_id


def rescue(database: Database, database_fd: int, root: FileId | None) -> str:
    """Save all jobs, and say where they are. If the whole folder was removed, it stays removed."""
    try:
        if os.fstat(database_fd).st_nlink and file_id(database.path) != database.files.database:
            database.write_all()  # it was moved to another name: write into it what is only in the log
            return ""
        if file_id(os.path.dirname(database.path)) != root:
            return "Its jobs are forgotten."
        return _save(database)
    except (OSError, StateError) as error:
        return f"Its jobs could not be saved: {error}"


def _save(database: Database) -> str:
    target = database.path + RESCUED
    half = f"{target}.{os.getpid()}"
    try:
        if not database.save_copy(half):
            return "Its jobs could not be saved: the database is incomplete."
        os.chmod(half, 0o600)
        os.replace(half, target)
        _remove_own_log(database)
    finally:
        if os.path.exists(half):
            os.unlink(half)
    return f"All jobs were saved: mv {target} {database.path}, then duckrow up, brings them back."


def _remove_own_log(database: Database) -> None:
    """Everything is in the copy. SQLite would take the old log for that of the new database."""
    for path, ours in ((f"{database.path}-wal", database.files.wal), (f"{database.path}-shm", database.files.shm)):
        if file_id(path) == ours and ours is not None:
            os.unlink(path)
