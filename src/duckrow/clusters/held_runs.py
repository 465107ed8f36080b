"""Held runs. A hold is a claim without a pilot. So nobody else can take the run, and if two try, one of them wins.

Empty files beside the claims mark those that are holds, so that one listing shows them all. Such a file is made
before its claim. A process that dies between the two leaves the file behind, so only the claim says who has the run.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from duckrow.clusters.claims import Claims, claim_from
from duckrow.clusters.shared_files import names, put

HELD = "held"
"""Takes the place of the pilot's name in the claim. It never ends, so the claim never lapses."""


class HeldRuns:
    def __init__(self, claims: Claims) -> None:
        """`claims`: already read; changes made here are added to it."""
        self._claims = claims
        self._folder = f"{claims.batch.folder}/holds"
        self.marked: set[tuple[int, int]] = set()
        self.look()

    def look(self) -> None:
        self.marked = {claim_from(name) for name in names(self._folder)}

    def is_marked(self, run: int) -> bool:
        """Whether it is held, as far as one listing shows."""
        claims, number = self._claims, self._claims.latest.get(run, 0)
        return (run, number) in self.marked and (run, number) not in claims.released and run not in claims.done

    def is_held(self, run: int) -> bool:
        return self.is_marked(run) and self._claims.holder(run, self._claims.latest[run]) == HELD

    def hold(self, runs: Iterable[int]) -> list[int]:
        """Hold these runs. Returns those that are now held; the others were taken, or are done."""
        os.makedirs(self._folder, 0o700, exist_ok=True)
        with self._card() as card:
            return [run for run in runs if self.is_held(run) or self._hold(run, card)]

    def _hold(self, run: int, card: str) -> bool:
        if not self._claims.is_free(run):
            return False
        number = self._claims.latest.get(run, 0) + 1
        mark = f"{self._folder}/{run}.{number}"
        with open(mark, "w"):
            pass
        if self._claims.take(card, run) is None:
            os.unlink(mark)  # somebody was faster
            return False
        self.marked.add((run, number))
        return True

    def release(self, runs: Iterable[int]) -> list[int]:
        """Release these runs. Returns those that may now be taken; the others were not held."""
        held = [run for run in runs if self.is_held(run)]
        for run in held:
            before = self._claims.history(run)
            number = self._claims.latest[run]
            self._claims.release(run, number, "released", {"retries_used": _retries_used(before)})
            self.marked.discard((run, number))
        return held

    @contextmanager
    def _card(self) -> Iterator[str]:
        card = f"{self._folder}/.{socket.gethostname()}.{os.getpid()}"
        put(card, {"pilot": HELD})
        try:
            yield card
        finally:
            os.unlink(card)


def _retries_used(history: list[dict[str, object]]) -> object:
    """A hold between two attempts does not give retries back."""
    return history[-1].get("retries_used", 0) if history else 0
