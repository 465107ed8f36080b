"""What the commands that answer ask of the database, each bounded or in one pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from duckrow.store.connection import load_queries
from duckrow.store.database import Database

_SQL = load_queries("answers")


class AnswerStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def ids(self, where: str, parameters: Mapping[str, Any], order: str, limit: int, offset: int = 0) -> list[int]:
        """The jobs that match. The tables that only an order needs are joined only then."""
        joins = [_SQL["join_attempts"]] if "a." in order else []
        joins += [_SQL["join_hosts"]] if "h." in order else []
        statement = _SQL["ids"].format(join=" ".join(joins), where=where, order=order)
        rows = self.database.all(statement, {**parameters, "limit": limit, "offset": offset})
        return [row[0] for row in rows]

    def count(self, where: str, parameters: Mapping[str, Any]) -> int:
        return int(self.database.one(_SQL["count"].format(where=where), parameters))

    def tally(self, where: str, parameters: Mapping[str, Any]) -> dict[str, int]:
        """How many of them are in each state, or have each outcome once done."""
        return {row[0]: row[1] for row in self.database.all(_SQL["tally"].format(where=where), parameters)}

    def durations(self, limit: int) -> list[sqlite3.Row]:
        """(project, name, duration_s) of the attempts that succeeded, newest first."""
        return self.database.all(_SQL["durations"], {"limit": limit})

    def queue_of_host(self, host_id: int, limit: int) -> Iterator[sqlite3.Row]:
        """(id, project, name, gpus) of its jobs that may start, in their order; whoever has seen enough may stop."""
        yield from self.database.execute(_SQL["queue_of_host"], {"host_id": host_id, "limit": limit})

    def waiting_for_runs(self) -> list[sqlite3.Row]:
        """(host_id, name, jobs) of each run, over or not, that has jobs waiting."""
        return self.database.all(_SQL["waiting_for_runs"])

    def variable_names(self, job_id: int) -> list[str]:
        """The names of the variables that a job takes along. Their values stay here: they may be secrets."""
        return sorted(json.loads(self.database.one(_SQL["variables_of_job"], {"job_id": job_id})))
