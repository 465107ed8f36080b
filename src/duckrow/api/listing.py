"""Which jobs to list, in which order, and what may be shown of each."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from duckrow.core.errors import UsageError
from duckrow.core.lifecycle import Outcome, State
from duckrow.store.answers import AnswerStore
from duckrow.store.control import ControlStore
from duckrow.store.database import to_sql
from duckrow.store.hosts import DAEMON, is_alive

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.views import JobView

SHOWN = 30
_MOST = 1 << 62  # rows that SQLite can count
STATES = tuple(state.value for state in State)
OUTCOMES = tuple(outcome.value for outcome in Outcome)

# Each column with what it is sorted by; an ETA is reckoned, not stored.
COLUMNS: dict[str, str | None] = {
    "id": "j.id",
    "name": "j.name",
    "state": "coalesce(j.outcome, j.state)",
    "where": "a.holds",
    "pid": "CASE WHEN a.ended_at IS NULL THEN a.pid END",
    "since": "j.changed_at",
    "time": "CASE WHEN j.state <> 'queued' THEN coalesce(a.ended_at, :now) - a.started_at END",
    "eta": None,
    "memory": "a.peak_memory_mb",
    "busy": "a.utilization",
    "gpu-time": "CASE WHEN j.state <> 'queued' THEN (coalesce(a.ended_at, :now) - a.started_at)"
    " * (SELECT count(*) FROM json_each(a.holds) WHERE json_extract(value, '$[0]') NOT LIKE 'cpu%') END",
    "exit": "coalesce(a.exit_code, 128 + a.signal)",
    "attempts": "j.attempts",
    "priority": "j.priority",
    "project": "j.project",
    "sweep": "(SELECT s.name FROM points p JOIN sweeps s ON s.id = p.sweep_id WHERE p.job_id = j.id)",
    "host": "h.name",
    "command": "j.command",
    "log": "a.log",
    "detail": "j.detail",
}

# What is most worth seeing comes first: what runs, what waits, in the order of the queue, and the newest that are done.
_SEGMENTS = (
    ("j.id IN (SELECT job_id FROM attempts WHERE ended_at IS NULL) AND j.state <> 'queued'", "j.id"),
    ("j.state = 'queued'", "j.priority DESC, j.position"),
    ("j.state = 'done'", "j.id DESC"),
)


_HAS_TEXT = "(j.command LIKE :text ESCAPE '\\' OR j.name LIKE :text ESCAPE '\\' OR j.project LIKE :text ESCAPE '\\')"
_HAS_TEXT_OR_ID = f"({_HAS_TEXT} OR j.id = :id_of_text)"
_LIKE_SIGN = re.compile(r"[\\%_]")


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


@dataclass(slots=True)
class Filter:
    """All of what is set must hold; of several states or outcomes one is enough."""

    statuses: Sequence[str] = ()  # states and outcomes
    project: str | None = None
    name: str | None = None  # a glob: train-*
    since_s: float | None = None  # created within these seconds
    older_than_s: float | None = None
    failed: bool = False  # done, neither succeeded nor skipped
    ids: Sequence[int] | None = None
    sweep_id: int | None = None
    text: str | None = None  # stands in its name, project or command; or its id
    not_of_hosts: Sequence[int] = ()  # without what waits for these

    def where(self, now: float) -> tuple[str, dict[str, Any]]:
        """As SQL over `jobs j`, and its values."""
        wanted, values = ["1"], dict[str, Any]()

        def want(condition: str, **more: Any) -> None:
            wanted.append(condition)
            values.update(more)

        if self.statuses:
            statuses = json.dumps(list(self.statuses))
            want(
                "(j.state IN (SELECT value FROM json_each(:statuses))"
                " OR j.outcome IN (SELECT value FROM json_each(:statuses)))",
                statuses=statuses,
            )
        if self.failed:
            want("j.state = 'done' AND j.outcome NOT IN ('succeeded', 'skipped')")
        if self.project is not None:
            want("j.project = :project", project=to_sql(self.project))
        if self.name is not None:
            want("j.name GLOB :name", name=to_sql(self.name))
        if self.since_s is not None:
            want("j.created_at >= :created_after", created_after=now - self.since_s)
        if self.older_than_s is not None:
            want("j.created_at <= :created_before", created_before=now - self.older_than_s)
        if self.ids is not None:
            want("j.id IN (SELECT value FROM json_each(:ids))", ids=json.dumps(list(self.ids)))
        if self.sweep_id is not None:
            want("j.id IN (SELECT job_id FROM points WHERE sweep_id = :sweep_id)", sweep_id=self.sweep_id)
        if "\0" in f"{self.name or ''}{self.text or ''}":
            want("0")  # no job has a NUL in its name or command, and SQLite would compare only what stands before it
        if self.text:
            is_id = re.fullmatch(r"[0-9]{1,18}", self.text) is not None
            pattern = f"%{_LIKE_SIGN.sub(_escaped, self.text)}%"
            want(_HAS_TEXT_OR_ID if is_id else _HAS_TEXT, text=to_sql(pattern))
            values |= {"id_of_text": int(self.text)} if is_id else {}
        if self.not_of_hosts:
            hosts = json.dumps(list(self.not_of_hosts))
            want("NOT (j.state = 'queued' AND j.host_id IN (SELECT value FROM json_each(:hosts)))", hosts=hosts)
        return " AND ".join(wanted), values


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint at what was meant, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(words), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def parse_words(what: str, texts: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The words of `a,b` and `c`, each of them one that is known."""
    words = tuple(word.strip().lower() for text in texts for word in text.split(",") if word.strip())
    for word in words:
        if word not in known:
            raise UsageError(f"There is no {what} '{word}'.{nearest(word, known)} There are: {', '.join(known)}.")
    return words


def listing(
    client: Client, filter: Filter, limit: int = SHOWN, page: int = 1, sort: str | None = None
) -> list[JobView]:
    """A page of the jobs that match; `limit` -1: all. `sort`: a column, with a minus in front downwards.

    Without `sort`: done, running, waiting, so that what is most worth seeing stands at the end.
    """
    where, values = filter.where(time.time())
    values["now"] = time.time()
    limit = min(limit, _MOST)
    offset = min((page - 1) * max(limit, 0), _MOST)
    store = AnswerStore(client.database)
    if sort is None:
        return annotated(client, _most_worth_seeing(store, where, values, limit, offset))
    column, down = sort.removeprefix("-"), sort.startswith("-")
    expression = COLUMNS[column]
    if expression is None:
        views = annotated(client, store.ids(where, values, "j.id", -1))
        known = sorted((view for view in views if view.eta_s is not None), key=lambda view: view.eta_s or 0.0)
        ordered = [*(reversed(known) if down else known), *(view for view in views if view.eta_s is None)]
        return ordered[offset:] if limit < 0 else ordered[offset : offset + limit]
    order = f"({expression}) IS NULL, {expression} {'DESC' if down else 'ASC'}, j.id"
    return annotated(client, store.ids(where, values, order, limit, offset))


def _most_worth_seeing(store: AnswerStore, where: str, values: dict[str, Any], limit: int, skip: int) -> list[int]:
    found: list[list[int]] = []
    left = limit
    for condition, order in _SEGMENTS:
        both = f"{condition} AND {where}"
        ids = store.ids(both, values, order, left, skip) if left else []
        if ids or not skip:
            skip = 0
        else:
            skip -= store.count(both, values)
        found.append(ids)
        left = left if limit < 0 else left - len(ids)
    live, waiting, done = found
    return [*reversed(done), *live, *waiting]


def annotated(client: Client, ids: Sequence[int]) -> list[JobView]:
    """These jobs, in this order, with all that `annotate` adds."""
    by_id = {view.id: view for view in client.views(ids)}
    views = [by_id[job_id] for job_id in dict.fromkeys(ids) if job_id in by_id]  # one may move while we look
    annotate(client, views)
    return views


def annotate(client: Client, views: Sequence[JobView]) -> None:
    """Add what takes a look at other jobs and at hosts: when they will be done, and whether anybody will run them."""
    from duckrow.api.history import fill_etas

    active = [view.id for view in views if view.state != State.DONE]
    if not active:
        return
    owners = dict(client.jobs.owners(active))
    runs = {host for host in set(owners.values()) if host != DAEMON and client.hosts.get(host).kind == "run"}
    ended = {host for host in runs if not is_alive(client.folder, host)}
    for view in views:
        view.run_ended = view.state == State.QUEUED and owners.get(view.id) in ended
    fill_etas(client, views, owners)


def tally(client: Client, filter: Filter) -> dict[str, int]:
    """How many match, by state, or by outcome once done."""
    where, values = filter.where(time.time())
    counts = AnswerStore(client.database).tally(where, values)
    return {status: counts[status] for status in [*STATES, *OUTCOMES] if status in counts}


def tally_in_words(client: Client, filter: Filter, counts: Mapping[str, int]) -> str:
    """`3 running (1 suspended), 2 queued`."""
    suspended = _suspended(client, filter)
    notes = {State.RUNNING.value: f" ({suspended} suspended)"} if suspended else {}
    return ", ".join(f"{count} {status}{notes.get(status, '')}" for status, count in counts.items())


def _suspended(client: Client, filter: Filter) -> int:
    """How many of those that match are suspended."""
    ids = list(client.jobs.suspended())
    where, values = filter.where(time.time())
    condition = f"{where} AND j.state = 'running' AND j.id IN (SELECT value FROM json_each(:suspended))"
    return AnswerStore(client.database).count(condition, {**values, "suspended": json.dumps(ids)}) if ids else 0


def matching_ids(client: Client, filter: Filter, limit: int) -> list[int]:
    """The first of those that match, by id."""
    where, values = filter.where(time.time())
    return AnswerStore(client.database).ids(where, values, "j.id", limit)


class EndedRun(NamedTuple):
    """A `duckrow run` that has ended with jobs still waiting for it."""

    host_id: int
    name: str
    jobs: int


def ended_runs(client: Client) -> list[EndedRun]:
    """Oldest first."""
    rows = AnswerStore(client.database).waiting_for_runs()
    return [EndedRun(*row) for row in rows if not is_alive(client.folder, row["host_id"])]


def waits_for_daemon(client: Client) -> bool:
    """Whether a job waits that only the daemon would start."""
    return AnswerStore(client.database).waits_for_daemon()


def dependencies(client: Client) -> list[tuple[int, int]]:
    """(job, job that it waits or has waited for)."""
    return [(row["job_id"], row["on_job_id"]) for row in ControlStore(client.database).all_dependencies()]


def variable_names(client: Client, job_id: int) -> list[str]:
    return AnswerStore(client.database).variable_names(job_id)
