"""Waits for runs to end, wherever they run, and cancels the rest when too many have failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from duckrow.api.clusters.tender import rest_after

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.attendance import Attendance
    from duckrow.api.queue.views import JobView
    from duckrow.api.sweeps.sweeps import PointJob
    from duckrow.hydra.destinations import Destination

_LOOK_S = 0.05  # the least time between two looks, if many runs are left; the last ones are seen sooner
_LOOK_EACH_S = 0.002  # the same for each run that is left
_GLANCE_S = 0.01  # how soon to check whether anything has changed; the longer nothing has, the less often
_SHARE = 5  # a look that takes long is followed by a rest that is this many times as long; results come once each


class RunWaiter:
    """`on_end`: called with the key of each run as it ends, and its view; None: it will not run."""

    def __init__(
        self,
        client: Client,
        sweep_id: int,
        place: Destination,
        max_failures: int | None,
        on_end: Callable[[str, JobView | None], None],
    ) -> None:
        self._client, self._sweep_id, self._place = client, sweep_id, place
        self._max_failures, self._on_end = max_failures, on_end
        self._failures = 0
        self._noting_s = 0.0  # how much of the last look went into what was new
        self._called_off: set[int] = set()
        self._attendance = _attendance(client)

    def until_done(self, keys: Sequence[str]) -> None:
        """If interrupted, stop the runs that have not ended."""
        pending = dict.fromkeys(keys)
        try:
            while pending:
                began, self._noting_s = time.monotonic(), 0.0
                self._look(pending)
                if pending:
                    looking_s = time.monotonic() - began - self._noting_s
                    self._rest(rest_after(looking_s, min(_LOOK_S, _LOOK_EACH_S * len(pending)), _SHARE))
        except KeyboardInterrupt:
            self._place.stop(self._client, [row.job_id for row in self._rows(pending).values()])
            raise

    def _rows(self, keys: dict[str, None]) -> dict[str, PointJob]:
        from duckrow.api.sweeps.sweeps import Sweeps

        return {row.key: row for row in Sweeps(self._client).points_with(self._sweep_id, keys)}

    def _look(self, pending: dict[str, None]) -> None:
        is_over = self._place.is_over(self._client)  # ask this first, so that we see all it did before its end
        rows = self._rows(pending)
        done = {row.job_id: key for key, row in rows.items() if row.state == "done"}
        views = self._client.views(sorted(done))
        began = time.monotonic()
        for view in views:
            self._note(done[view.id], view, pending)
        self._noting_s = time.monotonic() - began
        if self._max_failures is not None and self._failures >= self._max_failures:
            self._call_off([row.job_id for row in rows.values() if row.state == "queued"])
        if is_over:
            for key in list(pending):
                if key not in rows or rows[key].state == "queued":
                    self._note(key, None, pending)
        else:
            self._attendance.look([row.job_id for row in rows.values()])

    def _note(self, key: str, view: JobView | None, pending: dict[str, None]) -> None:
        del pending[key]
        is_called_off = view is not None and view.id in self._called_off and not view.attempts
        if view is not None and view.outcome not in ("succeeded", "skipped") and not is_called_off:
            self._failures += 1
        self._on_end(key, None if is_called_off else view)

    def _call_off(self, ids: list[int]) -> None:
        from duckrow.api.jobs.kill import kill

        new = [job_id for job_id in ids if job_id not in self._called_off]
        if new:
            self._called_off.update(new)
            kill(self._client, new, answered=False)

    def _rest(self, rest_s: float) -> None:
        """At least this long, unless all is over, and then until there is news."""
        began, rested_s = time.monotonic(), 0.0
        while True:
            time.sleep(min(max(_GLANCE_S, rested_s / 10), _LOOK_S))
            is_over = self._client.tender.see_to()
            rested_s = time.monotonic() - began
            if is_over or rested_s >= max(self._place.look_s, rest_s):
                return
            if rested_s >= rest_s and self._client.has_news():
                return


def _attendance(client: Client) -> Attendance:
    from duckrow.api.queue.attendance import Attendance, warn

    return Attendance(client, warn)
