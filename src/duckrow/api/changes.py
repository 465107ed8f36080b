"""Whether anything has changed that people look at, asked again and again at little cost."""

from __future__ import annotations

import time
from typing import NamedTuple

from duckrow.api.handles import client_of
from duckrow.store.changes import jobs_fingerprint, live_fingerprint, readings_fingerprint

_THOROUGH_S = 2.0


class Change(NamedTuple):
    jobs: bool
    devices: bool


class ChangeWatch:
    """SQLite tells that somebody has written, not what. Readings of GPUs come all the time while somebody looks at
    them; that these alone have changed is worth to know, so that nobody asks for the jobs again.
    """

    def __init__(self, home: str) -> None:
        self._database = client_of(home).database
        self._database.changed_by_others()
        self._readings = readings_fingerprint(self._database)
        self._live = live_fingerprint(self._database)
        self._jobs: object = None
        self._asked_at = 0.0
        self._unsure = False  # something has changed, and it was not asked yet whether jobs have

    def look(self) -> Change | None:
        """What has changed since the last look."""
        if not self._database.changed_by_others():
            return self._thorough() if self._unsure else None
        readings, live = readings_fingerprint(self._database), live_fingerprint(self._database)
        new_readings, new_live = readings != self._readings, live != self._live
        self._readings, self._live = readings, live
        if new_live or not new_readings:
            return Change(jobs=True, devices=True)
        self._unsure = True
        thorough = self._thorough()
        return Change(jobs=thorough is not None, devices=True)

    def _thorough(self) -> Change | None:
        """Jobs may have changed beside the readings: all of them are looked at, but not often."""
        if time.monotonic() - self._asked_at < _THOROUGH_S:
            return None
        self._asked_at, self._unsure = time.monotonic(), False
        before, self._jobs = self._jobs, jobs_fingerprint(self._database)
        return None if before == self._jobs else Change(jobs=True, devices=False)
