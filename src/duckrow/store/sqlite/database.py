"""One open database: statements, transactions, and whether somebody else has written."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.before_opening import look_before_opening
from duckrow.store.sqlite.connection import BUSY_S, connect, told_plainly
from duckrow.store.sqlite.database_files import files_of

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Parameters = Sequence[Any] | Mapping[str, Any]
    V = TypeVar("V", bound=tuple[Any, ...])  # a NamedTuple

_MAPPED_BYTES = 1 << 30
_READERS_MS = 2000


class Database:
    def __init__(self, folder: Folder, *, durable: bool = True, temporary: bool = False) -> None:
        self.folder = folder
        self.path = folder.database
        self._durable, self._temporary = durable, temporary
        self._mapped = False
        look_before_opening(folder)
        self._open()

    def _open(self) -> None:
        self._connection = connect(self.path, durable=self._durable, temporary=self._temporary)
        self.files = files_of(self.path)
        self._seen_version = -1

    def reopen(self) -> None:
        """Open the files that now have the names of the database."""
        self._connection.close()
        if self._durable:  # a host would wait for itself
            look_before_opening(self.folder)
        self._open()
        if self._mapped:
            self.map_into_memory()

    def is_replaced(self) -> bool:
        """Whether other files now have the names of the files that we use."""
        return files_of(self.path) != self.files

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        # The kernel tells a host, which handles this itself (scheduler/hosts/own_files.py).
        if self._durable and self.is_replaced():
            self._connection.execute("ROLLBACK")
            self.reopen()
            self._connection.execute("BEGIN IMMEDIATE")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing. Nobody else writes meanwhile."""
        with told_plainly(self.path):
            self._begin()
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

    def values(self, kind: type[V], statement: str, parameters: Parameters = ()) -> list[V]:
        """The rows as values of this NamedTuple. Its fields have the names and the order of the columns."""
        with told_plainly(self.path):
            return list(self.each(kind, statement, parameters))

    def each(self, kind: type[V], statement: str, parameters: Parameters = ()) -> Iterator[V]:
        """The same, one after the other, if you may not need all."""
        cursor = self._connection.execute(statement, parameters)
        cursor.row_factory = None
        named: Any = kind
        make: Callable[[Iterable[Any]], V] = named._make
        columns = tuple(column[0] for column in cursor.description)
        assert columns == named._fields, f"{kind.__name__} is not made of {columns}"
        for row in cursor:
            yield make(map(_as_text, row)) if bytes in map(type, row) else make(row)

    def numbers(self, statement: str, parameters: Parameters = ()) -> array[int]:
        """The first column of all rows, for a million of them in 8 MB."""
        with told_plainly(self.path):
            cursor = self._connection.execute(statement, parameters)
            cursor.row_factory = None
            return array("q", (row[0] for row in cursor))

    def one(self, statement: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row."""
        with told_plainly(self.path):
            row = self._connection.execute(statement, parameters).fetchone()
            return None if row is None else row[0]

    @property
    def changed_rows(self) -> int:
        """How many rows we have changed since this database was opened, by triggers too."""
        return self._connection.total_changes

    def map_into_memory(self) -> None:
        """For frequent readers: without copying pages, reading all jobs takes half the time."""
        self._mapped = True
        self._connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")

    def changed_by_others(self) -> bool:
        """Whether another connection has committed since you last asked."""
        if self._durable and self.is_replaced():
            with told_plainly(self.path):
                self.reopen()
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        changed = version != self._seen_version
        self._seen_version = version
        return bool(changed)

    def write_all(self) -> bool:
        """Move everything that was committed into the database file; False: somebody still reads the old state."""
        with told_plainly(self.path):
            self._connection.execute(f"PRAGMA busy_timeout = {_READERS_MS}")
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
            return not busy

    def save_copy(self, path: str) -> bool:
        """Copy the database as we have it open, even if its file was removed; False: the copy is not complete."""
        with told_plainly(path):
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy)
                return bool(copy.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
            finally:
                copy.close()

    def is_whole(self) -> bool:
        """Whether somebody who opens it now finds all pages, in the file or in the log. It reads the whole database."""
        try:
            other = sqlite3.connect(self.path)  # our own connection may remember pages that are gone
        except sqlite3.Error:
            return False
        try:
            return bool(other.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False
        finally:
            other.close()

    def close(self) -> None:
        self._connection.close()


_AT_ONCE = 2_000


def slices(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """For changes of many jobs: each slice is a transaction of milliseconds, so that others can write in between."""
    return (ids[at : at + _AT_ONCE] for at in range(0, len(ids), _AT_ONCE))


def to_sql(text: str) -> str | bytes:
    """Store text that is not UTF-8 as its bytes."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return os.fsencode(text)


def _as_text(value: Any) -> Any:
    return os.fsdecode(value) if isinstance(value, bytes) else value


def from_sql(value: str | bytes) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else value
