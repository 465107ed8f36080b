"""Lets one process at a time write the journal. The kernel takes the lock back from a process that dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable

_LOOK_S = 0.0001
_PATIENCE_S = 0.25  # writing takes some microseconds


class WriteLock:
    def __init__(self) -> None:
        self._file: int | None = None  # None: nobody else writes
        self._end_others: Callable[[], None] | None = None

    @property
    def fd(self) -> int | None:
        return self._file

    @property
    def is_shared(self) -> bool:
        return self._file is not None

    def share(self, end_others: Callable[[], None]) -> None:
        """From now on, processes that we fork may write too. `end_others`: ends them, if one has the lock and does not
        go on, because somebody stopped it."""
        self._file = os.memfd_create("duckrow-journal")
        self._end_others = end_others

    def share_no_more(self) -> None:
        """All processes that we shared it with are dead."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def be_patient(self) -> None:
        """We are a process that was forked: others that have the lock go on, or somebody ends them."""
        self._end_others = None

    def __enter__(self) -> None:
        if self._file is None:
            return
        if self._end_others is None:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            return
        patient_until = time.monotonic() + _PATIENCE_S
        while not self._is_free():
            if time.monotonic() > patient_until:
                self._end_others()
            time.sleep(_LOOK_S)

    def _is_free(self) -> bool:
        assert self._file is not None
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
