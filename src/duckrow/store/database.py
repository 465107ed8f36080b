"""One open database: statements, transactions, and whether somebody else has written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from duckrow.store.connection import connect, told_plainly
from duckrow.store.folder import Folder

Parameters = Sequence[Any] | Mapping[str, Any]

_MAPPED_BYTES = 1 << 30


class Database:
    def __init__(self, folder: Folder, *, durable: bool = True) -> None:
        self.folder = folder
        self.path = folder.database
        self._connection = connect(self.path, durable=durable)
        self._seen_version = -1

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and nobody else writes meanwhile."""
        with told_plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def execute(self, statement: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterable[Parameters]) -> sqlite3.Cursor:
        return self._connection.executemany(statement, rows)

    def all(self, statement: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        with told_plainly(self.path):
            return self._connection.execute(statement, parameters).fetchall()

    def one(self, statement: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row."""
        with told_plainly(self.path):
            row = self._connection.execute(statement, parameters).fetchone()
            return None if row is None else row[0]

    def map_into_memory(self) -> None:
        """For those who look often: passes over all jobs take half the time when no page is copied."""
        self._connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")

    def changed_by_others(self) -> bool:
        """Whether another connection has committed since this was last asked."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        changed = version != self._seen_version
        self._seen_version = version
        return bool(changed)

    def close(self) -> None:
        self._connection.close()


def to_sql(text: str) -> str | bytes:
    """Text that is not UTF-8 goes in as its bytes."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return os.fsencode(text)


def from_sql(value: str | bytes) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else value
