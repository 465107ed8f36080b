"""Wait: until jobs are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from duckrow.api.python.lending import Lending
from duckrow.api.queue.attendance import Attendance, warn
from duckrow.core.errors import EXIT_TIMED_OUT, DuckrowError
from duckrow.core.life.states import State

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView


_SLICE = 100


class WaitedTooLong(DuckrowError):
    exit_code = EXIT_TIMED_OUT


def wait(
    client: Client, ids: Sequence[int], timeout_s: float | None = None, tell: Callable[[str], None] = warn
) -> list[JobView]:
    """Wait until these jobs are done. `tell`: called when no host looks after them, and when one does again."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    attendance, lending = Attendance(client, tell), Lending(client, tell)
    unfinished = _Unfinished(client, ids)
    try:
        for _ in client.changes(deadline):
            client.tender.see_to()
            if not unfinished.any():
                views = client.views(ids)
                if all(view.state == State.DONE for view in views):
                    return views
                unfinished = _Unfinished(client, ids)  # one is running again
            if deadline is not None and time.monotonic() >= deadline:
                which = f"Job {ids[0]} was not" if len(ids) == 1 else "Not all of the jobs were"
                raise WaitedTooLong(f"{which} done within {timeout_s:g} s.")
            attendance.look(ids)
            lending.look(ids)
        raise AssertionError("changes never end")
    finally:
        lending.end()


class _Unfinished:
    """Whether one of many jobs is not done yet, without reading all of them. It checks slice by slice, from the last;
    mostly it is enough to look at the job that was not done before.
    """

    def __init__(self, client: Client, ids: Sequence[int]) -> None:
        self._jobs = client.jobs
        self._left = list(ids)
        self._awaited: int | None = None

    def any(self) -> bool:
        if self._awaited is not None and self._jobs.first_unfinished([self._awaited]) is not None:
            return True
        while self._left:
            self._awaited = self._jobs.first_unfinished(self._left[-_SLICE:])
            if self._awaited is not None:
                return True
            del self._left[-_SLICE:]
        return False
