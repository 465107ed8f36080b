"""Forgets old jobs (daemon.keep) in the background, without delaying the loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from duckrow.core.errors import StateError
from duckrow.core.units import format_duration, plural
from duckrow.store.folder.state_folder import Folder
from duckrow.store.jobs.forgetting import Forgetting
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.space import give_back_space

_EVERY_S = 3600.0
_AT_A_TIME = 100  # few enough that a tick waits only milliseconds
_REST_S = 0.05


class Retention:
    """A thread with its own connection. `tell`: writes what it did into the daemon's log."""

    def __init__(self, folder: Folder, keep_s: float, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._keep_s = keep_s
        self._tell = tell
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="duckrow-retention", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._closing.is_set():
            try:
                forgotten = self.forget_old()
                if forgotten:
                    kept = format_duration(self._keep_s)
                    self._tell(f"{plural(forgotten, 'job')} done for longer than {kept} removed (daemon.keep).")
            except StateError as error:
                self._tell(f"Old jobs could not be removed: {error}")
            self._closing.wait(_EVERY_S)

    def forget_old(self) -> int:
        database = Database(self._folder, durable=False)
        try:
            forgetting = Forgetting(database, _AT_A_TIME, self._rest)
            forgotten = 0
            for ids in forgetting.done_before(time.time() - self._keep_s):
                if self._closing.is_set():
                    return forgotten
                forgotten += len(forgetting.forget(ids))
            if forgotten:
                forgetting.forget_environments()
                give_back_space(database.path, self._rest, may_copy=False)
            return forgotten
        finally:
            database.close()

    def _rest(self, _took_s: float) -> None:
        self._closing.wait(_REST_S)
