"""What was seen of attempts: their memory, and how busy their GPUs were."""

from __future__ import annotations

import json

from duckrow.core.jobs.job import LiveAttempt
from duckrow.core.memory.use import Point, Use
from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("attempt_use")


class AttemptUseStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, attempt: LiveAttempt, use: Use) -> None:
        values = {"peak_mb": use.peak_mb, "utilization": use.utilization, "curve": json.dumps(use.curve)}
        self._database.execute(_SQL["note_use"], {**key_of(attempt), **values})

    def curve(self, attempt: LiveAttempt) -> list[Point]:
        """What an earlier host saw of it."""
        text = self._database.execute(_SQL["curve"], key_of(attempt)).fetchone()[0]
        return [(at, mb, busy) for at, mb, busy in json.loads(text or "[]")]
