"""The daemon looks after batches on clusters: beside the loop, with the same command that a user would type."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from duckrow.core.errors import StateError
from duckrow.store.batches import BatchStore
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database

_EVERY_S = 15.0
_LONGEST_S = 180.0  # for one command; the cluster may be slow to answer
_COMMAND = [sys.executable, "-m", "duckrow", "batches"]


class ClusterTending:
    """A thread with its own connection. `tell`: writes what went wrong into the daemon's log, once."""

    def __init__(self, folder: Folder, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._told = ""
        self._closing = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()  # between starting a command and closing
        self._thread = threading.Thread(target=self._work, name="duckrow-clusters", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            self._closing.set()
            if self._process is not None:
                self._process.kill()
        self._thread.join()

    def _work(self) -> None:
        while not self._closing.is_set():
            try:
                trouble = self._tend() if self._any_open() else ""
            except (StateError, OSError) as error:
                trouble = str(error)
            if trouble and trouble != self._told and not self._closing.is_set():
                self._tell(f"Could not look after runs on clusters: {trouble}")
            self._told = trouble
            self._closing.wait(_EVERY_S)

    def _any_open(self) -> bool:
        database = Database(self._folder, durable=False)
        try:
            return BatchStore(database).any_open()
        finally:
            database.close()

    def _tend(self) -> str:
        """What went wrong; empty: nothing."""
        with self._lock:
            if self._closing.is_set():
                return ""
            self._process = subprocess.Popen(
                _COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        try:
            _, said = self._process.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return f"`duckrow batches` took longer than {_LONGEST_S:.0f} s"
        code, self._process = self._process.returncode, None
        return said.strip().rpartition("\n")[2] if code else ""
