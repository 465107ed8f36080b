"""Forgets jobs with all that is recorded about them, a few at a time, so that nobody waits long for the database."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence

from duckrow.store.jobs.control import ControlStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql

_SQL = load_queries("forgetting")
_AT_A_TIME = 500
_REST_SHARE, _LEAST_REST_S = 0.25, 0.005


class Forgetting:
    """`rest`: called between two steps with the seconds that the last one took, so that others can write."""

    def __init__(
        self, database: Database, at_a_time: int = _AT_A_TIME, rest: Callable[[float], None] | None = None
    ) -> None:
        self._database = database
        self._store = ControlStore(database)
        self._at_a_time = at_a_time
        self._rest = rest or rest_a_little

    def forget(self, ids: Sequence[int]) -> list[int]:
        """Returns those removed. Folders below the state folder go with them; other folders belong to the user."""
        removed: list[int] = []
        for at in range(0, len(ids), self._at_a_time):
            began = time.monotonic()
            some = ids[at : at + self._at_a_time]
            folders = self._own_folders(some)
            gone = self._store.remove(some)
            for job_id in gone:
                if folders.get(job_id):
                    shutil.rmtree(folders[job_id], ignore_errors=True)
            removed += gone
            self._rest(time.monotonic() - began)
        return removed

    def done_before(self, at: float) -> Iterator[list[int]]:
        """Jobs that nobody needs any more, a few at a time. Runs of sweeps stay: otherwise they would run again."""
        after = 0
        while True:
            values = {"before": at, "after": after, "limit": self._at_a_time}
            ids = [int(row[0]) for row in self._database.all(_SQL["unneeded_jobs"], values)]
            if not ids:
                return
            yield ids
            after = ids[-1]

    def forget_environments(self) -> None:
        """Variables that no job has any more. The newest stay: their id must not be given to others.

        The unused ones are read beforehand; under the lock only jobs that were added since are checked.
        """
        newest = self._database.one(_SQL["newest_job"]) or 0
        unused = [int(row[0]) for row in self._database.all(_SQL["unused_environments"])]
        for at in range(0, len(unused), self._at_a_time):
            began = time.monotonic()
            with self._database.transaction():
                values = {"ids": json.dumps(unused[at : at + self._at_a_time]), "newest_job": newest}
                self._database.execute(_SQL["forget_environments"], values)
            self._rest(time.monotonic() - began)

    def _own_folders(self, ids: Sequence[int]) -> dict[int, str]:
        folder = self._database.folder
        found: dict[int, str] = {}
        for row in self._database.all(_SQL["folders_of"], {"ids": json.dumps(list(ids))}):
            kept_in = row["folder"]
            path = from_sql(kept_in) if kept_in else folder.run_folder(row["project"], row["name"], row["id"])
            found[row["id"]] = path if path.startswith(folder.root + "/") else ""
        return found


def rest_a_little(took_s: float) -> None:
    time.sleep(max(took_s * _REST_SHARE, _LEAST_REST_S))
