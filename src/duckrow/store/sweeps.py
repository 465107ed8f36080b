"""Sweeps and their points."""

from __future__ import annotations

import sqlite3
import time

from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

_SQL = load_queries("sweeps")


class SweepRow(NamedTuple):
    id: int
    project: str
    name: str
    root: str
    pattern: str
    created_at: float

    @property
    def folder(self) -> str:
        return f"{self.root}/{self.project}/{self.name}"


class CountedSweep(NamedTuple):
    sweep: SweepRow
    runs: int
    succeeded: int
    failed: int


class PointJob(NamedTuple):
    """A point of a sweep, with its job."""

    job_id: int
    key: str  # equal for equal points
    state: str
    outcome: str | None
    host_id: int
    folder: str
    cwd: str


class SweepStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, project: str, name: str, root: str, pattern: str) -> int:
        """Add a sweep, within the caller's transaction; returns its id."""
        values = {"project": project, "name": name, "root": to_sql(root), "pattern": to_sql(pattern)}
        cursor = self.database.execute(_SQL["add"], {**values, "at": time.time()})
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def forget_empty(self, sweep_id: int) -> bool:
        """Forget a sweep, unless it has runs; returns whether it had none."""
        with self.database.transaction():
            return self.database.execute(_SQL["forget_empty"], {"id": sweep_id}).rowcount == 1

    def at_place(self, root: str, project: str, name: str) -> SweepRow | None:
        return self._one("at_place", {"root": to_sql(root), "project": project, "name": name})

    def like_pattern(self, root: str, project: str, pattern: str) -> SweepRow | None:
        """The newest sweep of this pattern at this place, whatever its name."""
        return self._one("like_pattern", {"root": to_sql(root), "project": project, "pattern": to_sql(pattern)})

    def named(self, name: str) -> SweepRow | None:
        """The newest of this name, or the one with this id."""
        return self._one("named", {"name": name})

    def rows(self) -> list[SweepRow]:
        return [counted.sweep for counted in self.all()]

    def latest(self) -> SweepRow | None:
        rows = self.rows()
        return rows[-1] if rows else None

    def all(self) -> list[CountedSweep]:
        """Oldest first."""
        rows = self.database.all(_SQL["all"])
        return [CountedSweep(_sweep_row(row), row["runs"], row["succeeded"], row["failed"]) for row in rows]

    def points(self, sweep_id: int) -> list[PointJob]:
        """Each point that has a job."""
        return self.database.values(PointJob, _SQL["points"], {"sweep_id": sweep_id})

    def _one(self, query: str, values: dict[str, str | bytes]) -> SweepRow | None:
        rows = self.database.all(_SQL[query], values)
        return _sweep_row(rows[0]) if rows else None


def _sweep_row(row: sqlite3.Row) -> SweepRow:
    return SweepRow(
        row["id"], row["project"], row["name"], from_sql(row["root"]), from_sql(row["pattern"]), row["created_at"]
    )
