"""Moves what was written from SQLite's log into the database, in a thread, because it waits for the disk."""

from __future__ import annotations

import os
import sqlite3

from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from threading import Thread

_EVERY_COMMITS = 500
_EVERY_ROWS = 40_000  # or this many changed rows: a log of about 10 MB
_LARGE_BYTES = 8 << 20


class Checkpointer:
    """For a host. Its own connection does not do this work, so that no start waits for the disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = database.path
        self._commits = 0
        self._rows = database.changed_rows  # when the last checkpoint began
        self._is_large = False
        self._thread: Thread | None = None

    @property
    def is_moving_much(self) -> bool:
        """Whether a large log is being moved. What is in no hurry should wait until that is done.

        SQLite uses the log from its start again only when all of it was moved. If much is written meanwhile, it grows.
        """
        return self._is_large and self._is_running

    @property
    def _has_much(self) -> bool:
        return not 0 <= self._database.changed_rows - self._rows < _EVERY_ROWS  # below 0: it was opened again

    @property
    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def committed(self) -> None:
        self._commits += 1
        if (self._commits >= _EVERY_COMMITS or self._has_much) and not self._is_running:
            self._is_large = self._has_much
            self._commits, self._rows = 0, self._database.changed_rows
            from threading import Thread  # most runs end before

            self._thread = Thread(target=self._checkpoint, args=("PASSIVE",), daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Clean up after us, so that the logs of many short runs do not pile up.

        The log is made empty: else its file would look large to every later run, whatever is in it.
        """
        try:
            if os.path.getsize(f"{self._path}-wal") > _LARGE_BYTES:
                self._checkpoint("TRUNCATE")
        except OSError:
            pass

    def wait(self) -> None:
        """Wait until no checkpoint is being written."""
        if self._thread is not None:
            self._thread.join()

    def _checkpoint(self, how: str) -> None:
        if self._database.is_replaced():
            return  # these files are not ours
        from urllib.parse import quote  # most runs end before there is anything to move

        try:
            connection = sqlite3.connect(f"file:{quote(self._path)}?mode=rw", timeout=0, uri=True, isolation_level=None)
            connection.execute(f"PRAGMA wal_checkpoint({how})")  # if others read or write, as much as that allows
            connection.close()
        except sqlite3.DatabaseError:
            pass  # a full disk, for example: the log only grows, and the loop itself will say what is wrong
