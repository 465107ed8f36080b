"""Runs that wait for other jobs. Like a hold, a wait is a claim without a pilot; whoever knows those jobs ends it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from typing import Any

from duckrow.clusters.claims import Claims
from duckrow.clusters.shared_files import put
from duckrow.core.life.states import Outcome

AFTER = "after"
"""Takes the place of the pilot's name in the claim. It never ends, so the claim never lapses."""


class Waits:
    def __init__(self, claims: Claims) -> None:
        """`claims`: already read; changes made here are added to it."""
        self._claims = claims

    def begin(self, runs: Iterable[int]) -> None:
        card = f"{self._claims.batch.wishes}/.after.{socket.gethostname()}.{os.getpid()}"
        put(card, {"pilot": AFTER})
        try:
            for run in runs:
                self._claims.take(card, run)
        finally:
            os.unlink(card)

    def is_waiting(self, run: int) -> bool:
        number = self._claims.claimed().get(run)
        return number is not None and self._claims.holder(run, number) == AFTER

    def settle(self, run: int, blocked: bool, skipped: str | None) -> None:
        """Update a run after the jobs that it waits for. `skipped`: why it will never begin; None: it may begin."""
        claims = self._claims
        if run in claims.done and skipped is None and self._was_skipped(run):
            claims.reopen(run)  # one of those that it waited for runs again
            claims.look()
            if blocked:
                self.begin([run])
        elif self.is_waiting(run) and skipped is not None:
            self.end(run, {"outcome": Outcome.SKIPPED, "detail": skipped, "attempts": []})
        elif self.is_waiting(run) and not blocked:
            claims.release(run, claims.latest[run], "what it waited for has ended")

    def end(self, run: int, how: dict[str, Any]) -> None:
        """The run will not begin."""
        self._claims.finish(run, self._claims.latest[run], how)

    def _was_skipped(self, run: int) -> bool:
        return (self._claims.result(run) or {}).get("outcome") == Outcome.SKIPPED
