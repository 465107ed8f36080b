"""What has happened to a job: its attempts and its events."""

from __future__ import annotations

import json
import sqlite3

from duckrow.core.devices.device import Device
from duckrow.core.life.states import Outcome, State
from duckrow.core.memory.use import Point
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.attempts.reservation_json import reservations_from
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql

_SQL = load_queries("job_story")


class AttemptMade(NamedTuple):
    number: int
    devices: list[Device]
    log: str  # empty: it ended without printing anything
    started_at: float
    ended_at: float | None
    pid: int | None
    exit_code: int | None
    signal: int | None
    outcome: Outcome | None
    peak_memory_mb: int | None
    host_peak_mb: int | None
    utilization: float | None  # percent
    curve: list[Point]
    detail: str


class JobEvent(NamedTuple):
    at: float
    before: State
    after: State  # the same as before: a note
    outcome: Outcome | None
    attempt: int  # how many attempts there had been
    detail: str


class JobStoryStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def attempts(self, job_id: int) -> list[AttemptMade]:
        return [_attempt(row) for row in self._database.all(_SQL["attempts"], {"job_id": job_id})]

    def events(self, job_id: int) -> list[JobEvent]:
        return [_event(row) for row in self._database.all(_SQL["events"], {"job_id": job_id})]


def _attempt(row: sqlite3.Row) -> AttemptMade:
    values = dict(row)
    devices = [device for device, _ in reservations_from(values.pop("holds"))]
    curve = [(at, mb, busy) for at, mb, busy in json.loads(values.pop("curve") or "[]")]
    log, outcome = from_sql(values.pop("log")), _outcome(values.pop("outcome"))
    return AttemptMade(devices=devices, log=log, outcome=outcome, curve=curve, **values)


def _event(row: sqlite3.Row) -> JobEvent:
    at, before, after, outcome, attempt, detail = row
    return JobEvent(at, State(before), State(after), _outcome(outcome), attempt, detail)


def _outcome(text: str | None) -> Outcome | None:
    return None if text is None else Outcome(text)
