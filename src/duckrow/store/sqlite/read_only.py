"""Reads the database without changing it: creates, migrates and writes nothing."""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

from duckrow.core.devices.inventory import Seat
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, seats_from
from duckrow.store.sqlite.connection import explain, migrations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from duckrow.store.sqlite.database import Parameters

NEWEST_FORM = len(migrations())


class Trouble(Exception):
    """The database cannot be read; the message says why."""


class Look:
    """A database, read-only. It waits only briefly, because people want an answer now."""

    def __init__(self, folder: Folder, wait_s: float = 1.0) -> None:
        self._path = folder.database
        if not os.path.exists(self._path):
            raise Trouble(f"There is no database {self._path}.")
        try:
            self._connection = sqlite3.connect(f"file:{quote(self._path)}?mode=ro", uri=True, timeout=wait_s)
            self.form = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.DatabaseError as error:
            raise Trouble(explain(error, self._path)) from None

    def _rows(self, statement: str, parameters: Parameters = ()) -> list[tuple[object, ...]]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise Trouble(explain(error, self._path)) from None

    def complaints(self) -> list[str]:
        """What SQLite finds wrong with the file; empty: nothing."""
        return [str(text) for (text,) in self._rows("PRAGMA quick_check(3)") if text != "ok"]

    def recent_jobs(self, most: int) -> list[tuple[int, str, str]]:
        """(id, name, state or outcome), newest first."""
        statement = "SELECT id, name, coalesce(outcome, state) FROM jobs ORDER BY id DESC LIMIT ?"
        return [(int(str(job_id)), str(name), str(state)) for job_id, name, state in self._rows(statement, (most,))]

    def unwatched(self, living: list[int]) -> int:
        """How many attempts have not ended and belong to none of these hosts. Those of batches run elsewhere."""
        marks = ",".join(map(str, living)) or "0"
        hosts = "SELECT id FROM hosts WHERE kind IN ('daemon', 'run')"  # in databases of every schema
        statement = f"SELECT count(*) FROM attempts WHERE ended_at IS NULL AND host_id IN ({hosts})"
        return int(str(self._rows(f"{statement} AND host_id NOT IN ({marks})")[0][0]))

    def daemon(self) -> tuple[int | None, list[Seat]]:
        """Its PID and its devices."""
        ((pid, seats),) = self._rows("SELECT pid, seats FROM hosts WHERE id = ?", (DAEMON,))
        return None if pid is None else int(str(pid)), seats_from(str(seats))

    def waiting_for_daemon(self) -> int:
        """How many jobs."""
        statement = "SELECT count(*) FROM jobs WHERE state = 'queued' AND host_id = ?"
        return int(str(self._rows(statement, (DAEMON,))[0][0]))

    def set_aside(self, living: list[int]) -> dict[str, str]:
        """The GPUs that these hosts have set aside, and why."""
        statement = "SELECT device, why, host_id FROM set_aside WHERE NOT wanted_back ORDER BY device"
        return {str(gpu): str(why) for gpu, why, host in self._rows(statement) if host in living}

    def open_hosts(self) -> list[int]:
        return [int(str(row[0])) for row in self._rows("SELECT id FROM hosts WHERE ended_at IS NULL")]

    def close(self) -> None:
        self._connection.close()
