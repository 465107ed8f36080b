"""Jobs as front ends see them: adding, finding, wishing."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Iterable, Mapping, Sequence

from duckrow.core.jobs.title import full_name, job_words
from duckrow.core.life.wishes import is_kill
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.jobs.listed_job import OF_JOB, ListedJob, LiveJob
from duckrow.store.life.suspension import is_by_itself
from duckrow.store.sqlite.connection import load_queries, told_plainly
from duckrow.store.sqlite.database import Database, slices, to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.core.clock import Now
    from duckrow.core.jobs.job import JobSpec
    from duckrow.core.jobs.selection import Selection
    from duckrow.store.jobs.requests import EarlierJob

_SQL = load_queries("jobs", {"listed_job": ", ".join(f"j.{name}" for name in OF_JOB)})

BY_ID = "j.id"


class Glance(NamedTuple):
    """What must be known about a job to hold, move, kill or rerun it; quick to read for many."""

    id: int
    state: str
    outcome: str | None
    held: int  # whether
    name: str
    array_index: int | None

    @property
    def words(self) -> str:
        """Its name for people."""
        return job_words(self.id, self.array_index)

    @property
    def full_name(self) -> str:
        return full_name(self.name, self.array_index)


class JobStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    # -- adding -----------------------------------------------------------------------------------------------

    def add(
        self,
        host_id: int,
        specs: Sequence[JobSpec],
        environment: Mapping[str, str],
        first: int | None = None,
        now: Now | None = None,
    ) -> range:
        """Add these jobs, within the caller's transaction; returns their ids, which begin with `first` if given.

        `environment`: what they have in common. `now`: the caller's clocks, if it has read them.
        """
        from duckrow.store.jobs.requests import insert_jobs  # code that only looks at jobs does not need it

        environment_id = self.keep_environment(environment)
        of_variables: dict[tuple[tuple[str, str], ...], int] = {}

        def environment_of(spec: JobSpec) -> int:
            if spec.variables is None:
                return environment_id
            key = tuple(spec.variables.items())
            if key not in of_variables:
                of_variables[key] = self.keep_environment({**environment, **spec.variables})
            return of_variables[key]

        return insert_jobs(self.database, host_id, specs, first or self.next_id(), environment_of, now)

    def next_id(self) -> int:
        """The id of the next job to be added, within the caller's transaction."""
        return int(self.database.execute(_SQL["last_job_id"]).fetchone()[0]) + 1

    def asked_for(self, ids: Iterable[int]) -> list[EarlierJob]:
        """Jobs as they were submitted, sorted by id."""
        from duckrow.store.jobs.requests import asked_for

        return asked_for(self.database, ids)

    def continue_from(self, job_id: int, attempts: int, retries_used: int) -> None:
        """Within the caller's transaction: count attempts that were made elsewhere."""
        self.database.execute(
            _SQL["continue_from"], {"job_id": job_id, "attempts": attempts, "retries_used": retries_used}
        )

    def keep_environment(self, variables: Mapping[str, str]) -> int:
        """The id of these variables. They are stored once, however many jobs have them."""
        text = json.dumps(dict(sorted(variables.items())))
        known = self.database.execute(_SQL["find_environment"], {"variables": text}).fetchone()
        if known:
            return int(known[0])
        cursor = self.database.execute(_SQL["insert_environment"], {"variables": text})
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def environment(self, environment_id: int) -> dict[str, str]:
        text = self.database.one(_SQL["environment"], {"id": environment_id})
        variables: dict[str, str] = json.loads(text)
        return variables

    # -- finding ----------------------------------------------------------------------------------------------

    def pick(
        self,
        where: str = "1",
        parameters: Mapping[str, Any] | None = None,
        order: str = BY_ID,
        limit: int = -1,
        offset: int = 0,
    ) -> list[ListedJob]:
        """Jobs with their latest attempt. `where` comes from this package only; values are parameters."""
        statement = _SQL["pick"].format(where=where, order=order)
        return self.database.values(ListedJob, statement, {**(parameters or {}), "limit": limit, "offset": offset})

    def by_ids(self, ids: Iterable[int], begun: bool = False) -> list[ListedJob]:
        """These jobs with their latest attempt, sorted by id. `begun`: only those that are no longer queued."""
        where = "j.id IN (SELECT value FROM json_each(:ids))" + (" AND j.state <> 'queued'" if begun else "")
        return self.pick(where, {"ids": json.dumps(list(ids))})

    def glance(self, ids: Iterable[int]) -> list[Glance]:
        return self.database.values(Glance, _SQL["glance"], {"ids": json.dumps(list(ids))})

    def of_host(self, host_id: int) -> list[ListedJob]:
        return self.pick("j.host_id = :host_id", {"host_id": host_id})

    def selected(self, selection: Selection, whole_array: bool = False) -> tuple[list[int], list[str]]:
        """The ids of the selected jobs, in order, and the words that match nothing.

        `whole_array`: the last job stands for all jobs of its array, if it is one of an array.
        """
        found: set[int] = set()
        missing: list[str] = []
        for first, last in selection.ranges:
            ids = self._ids("SELECT id FROM jobs WHERE id BETWEEN ? AND ?", (first, last))
            if not ids:
                missing.append(str(first) if first == last else f"{first}-{last}")
            found.update(ids)
        for name in selection.names:
            ids = self._ids("SELECT id FROM jobs WHERE name = ?", (to_sql(name),))
            if not ids:
                missing.append(name)
            found.update(ids)
        if selection.last:
            ids = self._ids(_SQL["last_array" if whole_array else "last"], ())
            if not ids:
                missing.append("last")
            found.update(ids)
        return sorted(found), missing

    def _ids(self, statement: str, parameters: Sequence[Any]) -> list[int]:
        return list(self.database.numbers(statement, parameters))

    def owners(self, ids: Sequence[int]) -> dict[int, int]:
        """The host that each of these jobs belongs to."""
        rows = self.database.all(_SQL["owners"], {"ids": json.dumps(list(ids))})
        return {row[0]: row[1] for row in rows}

    def unfinished_by_host(self, ids: Sequence[int]) -> dict[int, dict[str, int]]:
        """Host -> state -> how many of these jobs; only jobs that are not done."""
        found: dict[int, dict[str, int]] = {}
        for host_id, state, count in self.database.all(_SQL["unfinished_by_host"], {"ids": json.dumps(list(ids))}):
            found.setdefault(host_id, {})[state] = count
        return found

    def first_unfinished(self, ids: Sequence[int]) -> int | None:
        """One of these jobs that is not done; None: all are done or gone."""
        found: int | None = self.database.one(_SQL["first_unfinished"], {"ids": json.dumps(list(ids))})
        return found

    def live(self) -> list[LiveJob]:
        return self.database.values(LiveJob, _SQL["live"])

    # -- wishing ----------------------------------------------------------------------------------------------

    def wish(self, job_ids: Iterable[int], wish: str) -> None:
        """A few thousand at a time, so that a host can write in between."""
        in_order = self.in_order_of_kills(job_ids) if is_kill(wish) else list(job_ids)
        for some in slices(in_order):
            with self.database.transaction():
                values = {"ids": json.dumps(some), "wish": wish, "at": time.time()}
                self.database.execute(_SQL["add_wishes"], values)

    def in_order_of_kills(self, job_ids: Iterable[int]) -> list[int]:
        """Running jobs first, as a million may wait; then the youngest: one that waits for another would be skipped."""
        live = {row[0] for row in self.database.all(_SQL["with_an_attempt"])}
        in_order = sorted(job_ids, reverse=True)
        return [*filter(live.__contains__, in_order), *(job_id for job_id in in_order if job_id not in live)]

    def wished(self) -> set[int]:
        """The jobs with a wish that is not fulfilled yet."""
        return {row[0] for row in self.database.all(_SQL["wished"])}

    def first_wished(self, ids: Container[int]) -> int | None:
        """The first of these jobs with such a wish. Wishes are fulfilled in order, so this reads few of them."""
        with told_plainly(self.database.path):
            rows = self.database.execute(_SQL["wished"])
            return next((row[0] for row in rows if row[0] in ids), None)

    def suspended(self) -> dict[int, bool]:
        """The jobs that are suspended, and whether each was paused by itself."""
        return {row["job_id"]: is_by_itself(row["wish"]) for row in self.database.all(_SQL["suspended"])}

    def pauses(self) -> list[str]:
        return [row[0] for row in self.database.all(_SQL["pauses"])]

    def held_among(self, ids: Sequence[int]) -> list[int]:
        return [row[0] for row in self.database.all(_SQL["held_among"], {"ids": json.dumps(list(ids))})]

    def pauses_among(self, ids: Sequence[int], suspended: Iterable[int]) -> list[str]:
        """The pauses that keep some of these jobs waiting, or `suspended` ones of them from continuing."""
        values = {"ids": json.dumps(list(ids)), "suspended": json.dumps(list(suspended))}
        return [row[0] for row in self.database.all(_SQL["pauses_among"], values)]

    def pause(self, project: str) -> None:
        with self.database.transaction():
            self.database.execute(_SQL["add_pause"], {"project": project, "at": time.time()})

    def unpause(self, project: str) -> None:
        """Undo the pause of a project, or, with an empty name, that of everything."""
        with self.database.transaction():
            self.database.execute(_SQL["remove_pause"], {"project": project})
