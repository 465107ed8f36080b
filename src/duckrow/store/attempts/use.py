"""What was seen of attempts: their memory, and how busy their GPUs were."""

from __future__ import annotations

import json

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.memory.course import Course, course_of
from duckrow.core.memory.use import Point, Use
from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("attempt_use")
_LATEST_JOBS = 1024  # are searched for runs of a recipe
_ENOUGH = 3  # runs of the same command tell how much its time varies


class AttemptUseStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, attempt: LiveAttempt, use: Use) -> None:
        values = {"peak_mb": use.peak_mb, "utilization": use.utilization, "curve": json.dumps(use.curve)}
        self._database.execute(_SQL["note_use"], {**key_of(attempt), **values})

    def curve(self, attempt: LiveAttempt) -> list[Point]:
        """What an earlier host saw of it."""
        text = self._database.execute(_SQL["curve"], key_of(attempt)).fetchone()[0]
        return _curve_from(text)

    def courses(self, recipe: str) -> dict[str, list[Course]]:
        """What the latest runs of a recipe used over their time, by their parameters; of each, the latest first."""
        found: dict[str, list[Course]] = {}
        for needs_text, curve in self._database.execute(_SQL["curves"], {"latest": _LATEST_JOBS}):
            needs = needs_from(needs_text)
            if needs.recipe != recipe or len(found.get(needs.parameters, ())) >= _ENOUGH:
                continue
            course = course_of(_curve_from(curve))
            if course is not None:
                found.setdefault(needs.parameters, []).append(course)
        return found


def _curve_from(text: str | None) -> list[Point]:
    return [(at, mb, busy) for at, mb, busy in json.loads(text or "[]")]
