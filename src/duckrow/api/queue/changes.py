"""Cheap polling: has anything changed that people look at?"""

from __future__ import annotations

import time

from duckrow.api.python.handles import client_of
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.changes import live_fingerprint, readings_fingerprint

_UNSURE_S = 2.0  # a change of jobs may hide behind readings for no longer than this


class Change(NamedTuple):
    jobs: bool
    devices: bool


class ChangeWatch:
    """SQLite says that somebody has written, not what. GPU readings come twice a second while somebody looks at them.
    If certainly nothing else has changed, views of jobs need not refresh as often.
    """

    def __init__(self, home: str) -> None:
        self._client = client_of(home)
        self._database = self._client.database
        self._database.changed_by_others()
        self._readings = readings_fingerprint(self._database)
        self._live = live_fingerprint(self._database)
        self._told_at = 0.0  # when we last said that jobs may have changed
        self._unsure = False  # readings have changed since then, and perhaps jobs too

    def close(self) -> None:
        self._client.close()

    def look(self) -> Change | None:
        """What has, or may have, changed since the last look."""
        if not self._database.changed_by_others():
            return Change(jobs=True, devices=False) if self._unsure and self._tell_jobs() else None
        readings, live = readings_fingerprint(self._database), live_fingerprint(self._database)
        only_readings = readings != self._readings and live == self._live
        self._readings, self._live, self._unsure = readings, live, True
        return Change(jobs=self._tell_jobs(at_once=not only_readings), devices=True)

    def _tell_jobs(self, at_once: bool = False) -> bool:
        now = time.monotonic()
        if not at_once and now - self._told_at < _UNSURE_S:
            return False
        self._told_at, self._unsure = now, False
        return True
