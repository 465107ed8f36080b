"""The deadline of a schedule."""

from __future__ import annotations

import threading

from duckrow.api.client import Client
from duckrow.api.jobs.kill import kill
from duckrow.core.errors import DuckrowError
from duckrow.core.life.states import State

_AGAIN_S = 0.2  # a run that has just started may not have read all its jobs yet


class Deadline:
    """Kills all jobs of a run after this time, including queued ones."""

    def __init__(self, list_file: str, seconds: float) -> None:
        self._list_file = list_file
        self._seconds = min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        self._ended = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._told: set[int] = set()  # jobs already killed
        self.passed = False

    def __enter__(self) -> Deadline:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._over.set()
        self._thread.join()

    def end_now(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        self.passed = not self._over.wait(self._seconds)
        while not self._ended.wait(_AGAIN_S if self._told else 0.02):
            try:
                self._kill()
            except DuckrowError:
                pass  # the database does not exist yet, or is busy

    def _kill(self) -> None:
        client = Client()
        try:
            for run in client.living_hosts():
                if run.list_file != self._list_file:
                    continue
                jobs = client.of_host(run.id)
                rest = [job.id for job in jobs if job.state != State.DONE and job.id not in self._told]
                if rest:
                    kill(client, rest, answered=False)
                    self._told.update(rest)
        finally:
            client.close()
