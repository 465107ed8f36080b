"""Gives the space of forgotten jobs back to the file system."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from duckrow.store.sqlite.connection import BUSY_S

INCREMENTAL = 2  # of auto_vacuum: the file can shrink a few pages at a time
_PAGES_AT_A_TIME = 500
_FREE_PAGES_KEPT = 1000  # they are used again soon
_QUICKLY_COPIED_BYTES = 256 << 20


def give_back_space(path: str, rest: Callable[[float], None], may_copy: bool, alone: bool = False) -> None:
    """Make the database as small as its content. Others may use it meanwhile.

    An older database can only be made smaller by writing it again, during which nobody else
    can write. This is done if we `may_copy` and it is quick, or nobody else is there (`alone`).
    """
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        if _number(connection, "auto_vacuum") == INCREMENTAL:
            _shorten(connection, rest)
        elif may_copy and _is_worth_a_copy(connection, alone):
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
            connection.execute("VACUUM")
        _empty_log(connection)
    except sqlite3.DatabaseError:
        pass  # a full disk or a very busy database: its size stays as it was
    finally:
        connection.close()


def _shorten(connection: sqlite3.Connection, rest: Callable[[float], None]) -> None:
    free = _number(connection, "freelist_count")
    while free > _FREE_PAGES_KEPT:
        began = time.monotonic()
        connection.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_A_TIME})")  # `execute` would do one page
        rest(time.monotonic() - began)
        before, free = free, _number(connection, "freelist_count")
        if free >= before:
            return


def _is_worth_a_copy(connection: sqlite3.Connection, alone: bool) -> bool:
    free, pages = _number(connection, "freelist_count"), _number(connection, "page_count")
    if free <= _FREE_PAGES_KEPT or free * 4 < pages:
        return False
    return alone or (pages - free) * _number(connection, "page_size") < _QUICKLY_COPIED_BYTES


def _empty_log(connection: sqlite3.Connection) -> None:
    """This makes the file itself shorter. What others still read stays, and we wait for nobody."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
