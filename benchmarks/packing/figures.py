"""What was measured of a workload, and what must come out of it."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple


class Round(NamedTuple):
    """One way of running all runs of a workload, once."""

    seconds: float
    retries: int = 0
    most_attempts: int = 1  # of one run


class Rounds:
    """All that was measured of a workload, by what was done."""

    def __init__(self) -> None:
        self.found: dict[str, list[Round]] = {}

    def note(self, what: str, found: Round) -> None:
        self.found.setdefault(what, []).append(found)
        tried = f", {found.retries} retries" if found.retries else ""
        print(f"    {what:<14} {found.seconds:6.1f} s{tried}", flush=True)

    def median_s(self, what: str) -> float:
        return statistics.median(each.seconds for each in self.found[what])

    def retries(self, what: str) -> int:
        """The most in a round."""
        return max(each.retries for each in self.found[what])

    def most_attempts(self, what: str) -> int:
        return max(each.most_attempts for each in self.found[what])

    def quickest(self, beginning: str) -> str:
        """The best of those whose names begin so, by their medians."""
        return min((what for what in self.found if what.startswith(beginning)), key=self.median_s)


class Goal(NamedTuple):
    """A figure that must not be more than this: a time as a ratio to that of another way, or a count."""

    title: str
    most: float
    ours: float
    against: float | None = None  # seconds of the other way; None: a count
    way: str = ""  # what that other way is
    retries: int = 0

    @property
    def value(self) -> float:
        return self.ours if self.against is None else self.ours / self.against

    @property
    def is_met(self) -> bool:
        return self.value <= self.most

    def __str__(self) -> str:
        times = "" if self.against is None else f"{self.ours:6.1f} s, {self.way} {self.against:6.1f} s"
        told = f"{self.value:5.2f}, goal {self.most:.2f}: {'met' if self.is_met else 'MISSED'}"
        return f"  {self.title:<34} {told:<26} {times}{f', {self.retries} retries' if self.retries else ''}"

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "value": round(self.value, 3), "is_met": self.is_met}


def against(rounds: Rounds, title: str, ours: str, other: str, most: float) -> Goal:
    """The median of one way beside that of another."""
    return Goal(title, most, rounds.median_s(ours), rounds.median_s(other), other, rounds.retries(ours))
