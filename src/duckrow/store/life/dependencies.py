"""Jobs that wait for other jobs: what the end of a job, or its rerun, means for those that wait for it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from duckrow.core.life.dependencies import in_words, is_met, is_skipped
from duckrow.core.life.states import Outcome, State, state_in_words
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("dependencies")


class DependencyStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.any_wait = True  # as far as we know

    def add(self, job_ids: Iterable[int], on: Iterable[tuple[int, str]]) -> None:
        """Within the caller's transaction: these jobs wait for those, each (job, condition)."""
        waits_for = list(on)
        for job_id in job_ids if waits_for else ():
            for on_job_id, condition in waits_for:
                values = {"job_id": job_id, "on_job_id": on_job_id, "condition": condition}
                self._database.execute(_SQL["add_dependency"], values)
            self._database.execute(_SQL["count_blockers"], {"job_id": job_id})

    def all(self) -> list[tuple[int, int]]:
        """(job, job that it waits or has waited for)."""
        return [(row[0], row[1]) for row in self._database.all(_SQL["all_dependencies"])]

    def look(self) -> None:
        """Whether any job waits for another. Only other processes add such jobs: look again when they have written."""
        self.any_wait = bool(self._database.execute(_SQL["any_dependencies"]).fetchone()[0])

    def settle(self, job_id: int, outcome: Outcome) -> tuple[bool, list[tuple[int, str]]]:
        """Release the jobs that waited for this end. Returns whether any did, and those to skip, with the reason."""
        broken = []
        dependents = self._database.execute(_SQL["dependents"], {"job_id": job_id}).fetchall()
        for row in dependents:
            if is_met(row["condition"], outcome):
                self._database.execute(_SQL["meet_dependency"], {"job_id": row["job_id"], "on_job_id": job_id})
                self._database.execute(_SQL["unblock"], {"job_id": row["job_id"]})
            elif row["state"] == State.QUEUED and is_skipped(row["condition"], outcome, row["if_broken"]):
                why = f"it waited for {in_words(row['condition'], job_id)}, which {state_in_words(State.DONE, outcome)}"
                broken.append((row["job_id"], why))
        return bool(dependents), broken

    def skipped_behind(self, job_ids: Iterable[int]) -> list[int]:
        """Which other jobs will wait again if these run again; see `wait_again`."""
        return list(self._database.numbers(_SQL["skipped_behind"], {"ids": json.dumps(list(job_ids))}))

    def wait_again(self, job_id: int) -> list[int]:
        """This job will run again. Jobs that were skipped because of how it ended, and those behind them, wait again.

        They are still done. Each is listed once, however many of the others it waits for.
        """
        found, chain = {job_id}, [job_id]
        for before in chain:  # it grows
            for (dependent,) in self._database.execute(_SQL["skipped_dependents"], {"job_id": before}).fetchall():
                self._database.execute(_SQL["unmeet_dependency"], {"job_id": dependent, "on_job_id": before})
                self._database.execute(_SQL["count_blockers"], {"job_id": dependent})
                if dependent not in found:
                    found.add(dependent)
                    chain.append(dependent)
        return chain[1:]
