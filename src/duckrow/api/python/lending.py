"""A job that waits for other jobs lends them its CPU slot; otherwise waiting jobs could block all slots.

A GPU is not lent, because the job may have memory on it. A warning then says what to change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from duckrow.core.devices.device import Device
from duckrow.core.life.states import State
from duckrow.core.life.wishes import Wish
from duckrow.store.hosts import DAEMON

if TYPE_CHECKING:
    from duckrow.api.queue.views import JobView
    from duckrow.api.session import Session

_LOOK_S = 0.5  # a queue that moves on its own needs no help
_TELL_S = 2.0  # nor a warning


class Lending:
    """Lends the slot of the job that this process belongs to, if any, while it waits."""

    def __init__(self, session: Session, tell: Callable[[str], None]) -> None:
        self._session = session
        self._tell = tell
        self._own = _own_job(session)
        self._began = self._looked_at = time.monotonic()
        self._is_lent = self._is_told = False

    def look(self, ids: Sequence[int]) -> None:
        """Check the jobs that it waits for."""
        if self._own is None or time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        if self._is_told or not self._all_wait(ids):
            return
        if all(Device(name).is_cpu_slot for name in self._own.devices):
            self._is_lent = True  # repeated each time: another thread may have taken it back
            self._session.wish([self._own.id], Wish.LEND)
        elif time.monotonic() - self._began > _TELL_S:
            self._is_told = True
            self._tell(
                f"Job {self._own.id} keeps its GPU while it waits for jobs that have not started. If all GPUs are kept "
                "like this, it waits for ever. Give a job that only waits for others no GPU: gpus=0, or --cpu."
            )

    def _all_wait(self, ids: Sequence[int]) -> bool:
        """Whether some jobs are not done, and all of these are queued."""
        states = {state for of_host in self._session.jobs.unfinished_by_host(ids).values() for state in of_host}
        return states == {State.QUEUED}

    def end(self) -> None:
        """It has stopped waiting."""
        if self._is_lent and self._own is not None:
            self._is_lent = False
            self._session.wish([self._own.id], Wish.TAKE_BACK)


def _own_job(session: Session) -> JobView | None:
    """The job that we are in, if it is of this daemon; another duckrow may have a job with the same number."""
    number = os.environ.get("DUCKROW_JOB_ID", "")
    if not number.isdigit():
        return None
    found = session.views([int(number)])
    if not found or found[0].state == State.DONE or session.jobs.owners([found[0].id]).get(found[0].id) != DAEMON:
        return None
    folder = found[0].folder or session.folder.run_folder(found[0].project, found[0].name, found[0].id)
    return found[0] if folder == os.environ.get("DUCKROW_RUN_DIR") else None
