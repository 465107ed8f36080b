"""Who has which run: claims, releases and results. Files are only ever added, so nobody sees an old state."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from duckrow.clusters.batch import Batch
from duckrow.clusters.priorities import Priorities
from duckrow.clusters.shared_files import get, names, put, server_time, take
from duckrow.core.life.states import Outcome

LOGIN = "login"
"""Takes the place of the pilot's name when a run was claimed only to end it."""
_COLLISIONS = 16  # if others took this many runs in a row before us, list the free ones again


class Claims:
    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.latest: dict[int, int] = {}  # run -> number of its last claim
        self.released: set[tuple[int, int]] = set()
        self.done: set[int] = set()

    # -- looking ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read the folders: releases before claims, so that a claim is never seen without its predecessor's release."""
        self.released = {claim_from(name) for name in names(self.batch.releases)}
        self.latest = {}
        for run, number in map(claim_from, names(self.batch.claims)):
            self.latest[run] = max(number, self.latest.get(run, 0))
        self.done = {int(name.partition(".")[0]) for name in names(self.batch.results)}

    def is_free(self, run: int) -> bool:
        return run not in self.done and (run not in self.latest or (run, self.latest[run]) in self.released)

    def free(self) -> list[int]:
        return [run for run in range(self.batch.count) if self.is_free(run)]

    def claimed(self) -> dict[int, int]:
        """Run -> claim, for runs that somebody has taken and neither finished nor released."""
        return {r: n for r, n in self.latest.items() if r not in self.done and (r, n) not in self.released}

    def holder(self, run: int, number: int) -> str | None:
        """The pilot that has this claim."""
        card = get(self._claim(run, number))
        return None if card is None else str(card["pilot"])

    def age_s(self, run: int, number: int) -> float:
        """The age of the claim, or of the card that it links to."""
        try:
            return server_time(self.batch.claims) - os.stat(self._claim(run, number)).st_mtime
        except FileNotFoundError:
            return 0.0

    def result(self, run: int) -> dict[str, Any] | None:
        return get(f"{self.batch.results}/{run}.json")

    def release_of(self, run: int, number: int) -> dict[str, Any]:
        return get(f"{self.batch.releases}/{run}.{number}") or {}

    def history(self, run: int) -> list[dict[str, Any]]:
        """The releases of a run, oldest first: how each claim without a result ended."""
        last = self.latest.get(run, 0)
        return [self.release_of(run, number) for number in range(1, last + 1) if (run, number) in self.released]

    def interruptions(self, run: int) -> int:
        return sum(bool(release.get("interruption")) for release in self.history(run))

    # -- writing ----------------------------------------------------------------------------------------------

    def take(self, card: str, run: int) -> int | None:
        """The number of our claim; None if somebody else was faster, or if the run is already done."""
        number = self.latest.get(run, 0) + 1
        if not take(card, self._claim(run, number)):
            return None
        self.latest[run] = number
        if os.path.exists(f"{self.batch.results}/{run}.json"):  # since we looked
            self.done.add(run)
            return None
        return number

    def release(self, run: int, number: int, why: str, facts: Mapping[str, Any] | None = None) -> None:
        put(f"{self.batch.releases}/{run}.{number}", {"why": why, "at": time.time(), **(facts or {})})
        self.released.add((run, number))

    def finish(self, run: int, number: int, result: Mapping[str, Any]) -> None:
        put(f"{self.batch.results}/{run}.json", {"claim": number, **result})
        self.done.add(run)

    def reopen(self, run: int) -> None:
        """Let a finished run run again. Its result is kept, as the release of its last claim; wishes are removed."""
        for name in names(self.batch.wishes):
            if name.partition(".")[0] == str(run):
                os.unlink(f"{self.batch.wishes}/{name}")
        result = self.result(run) or {}
        number = int(result.get("claim", self.latest.get(run, 0)))
        put(f"{self.batch.releases}/{run}.{number}", {**result, "why": "rerun asked for", "at": time.time()})
        os.unlink(f"{self.batch.results}/{run}.json")

    def _claim(self, run: int, number: int) -> str:
        return f"{self.batch.claims}/{run}.{number}"


class Taker:
    """Takes free runs one by one, in order of priority; with a chunk, only those in it."""

    def __init__(
        self,
        claims: Claims,
        card: str,
        chunk: range | None = None,
        fits: Callable[[int], bool] = lambda _: True,
        is_ours: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """`fits`: whether we would begin a run now; others still may. `is_ours`: these runs come before all others."""
        self._claims = claims
        self._fits = fits
        self._is_ours = is_ours
        self._card = card
        self._chunk = None if chunk is None else set(chunk)
        self._free: list[int] | None = None  # last first
        self._priorities = Priorities(claims.batch)

    def next(self) -> tuple[int, int] | None:
        """(run, claim); None if there is nothing to take right now."""
        if self._priorities.look() and self._free is not None:
            self._sort(self._free)
        looked = self._free is None
        if self._free is None:
            self._look()
        collisions = 0
        while True:
            if not self._free or collisions >= _COLLISIONS:
                if looked and not collisions:
                    self._free = None
                    return None
                self._look()
                looked, collisions = True, 0
                continue
            run = self._free[-1]
            if not self._fits(run):
                self._free.pop()
                continue
            number = self._claims.take(self._card, run)  # if that cannot be written, it stays the next
            self._free.pop()
            if number is not None:
                return run, number
            collisions += 1

    def widen(self, runs: Iterable[int]) -> None:
        """If there is a chunk, add these to it; then list the free runs again."""
        if self._chunk is not None:
            self._chunk |= set(runs)
        self._free = None

    def _look(self) -> None:
        self._claims.look()
        free = self._claims.free()
        if self._chunk is not None:
            free = [run for run in free if run in self._chunk]
        self._sort(free)
        self._free = free

    def _sort(self, free: list[int]) -> None:
        free.sort(key=lambda run: (not self._is_ours(run), -self._priorities.of(run), run), reverse=True)


def killed_before_it_began() -> dict[str, Any]:
    """The result of a run that never began."""
    at = time.time()
    return {"outcome": Outcome.KILLED, "detail": "killed before it started", "ended_at": at, "attempts": []}


def claim_from(name: str) -> tuple[int, int]:
    """(run, claim) from a file's name."""
    run, _, number = name.partition(".")
    return int(run), int(number)
