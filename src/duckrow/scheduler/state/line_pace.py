"""How long the jobs that end take, to judge whether others may be lined up behind those that run."""

from __future__ import annotations

import math

from duckrow.core.schedule.decide import BRISK_S, SHORT_S, line_length

_LATEST = 5  # ends decide how long jobs take
_FEWEST = 2  # ends tell something; if they mislead, those that were lined up go back to the queue in a moment
_FRESH_S = 1.0  # a job whose namesakes ended longer ago, or never, may be of another kind: nobody waits behind it
_MOST_NAMES = 100


class LinePace:
    def __init__(self) -> None:
        self._pace_s = 1.0  # how long jobs take; the latest count most
        self._ends = 0
        self._ended: dict[str, float] = {}  # name -> when the last such job ended, by the monotonic clock

    def note(self, name: str, lasted_s: float, mono: float) -> None:
        """A job of this name has ended."""
        self._ends = min(self._ends + 1, _LATEST)
        self._pace_s += (lasted_s - self._pace_s) / self._ends
        if len(self._ended) > _MOST_NAMES:
            self._ended.clear()
        self._ended[name] = mono

    @property
    def length(self) -> int:
        """How many jobs may be lined up behind each attempt."""
        return line_length(self._pace_s) if self._ends >= _FEWEST else 0

    @property
    def is_brisk(self) -> bool:
        """Whether a whole line is over in a moment."""
        return self._pace_s <= BRISK_S

    @property
    def slow_s(self) -> float:
        """An attempt that has run this long is not short, even if others were. No job should wait behind it."""
        return 3 * (BRISK_S if self.is_brisk else SHORT_S)

    def knows(self, name: str, mono: float) -> bool:
        """Whether a job of this name has ended a moment ago."""
        return mono - self._ended.get(name, -math.inf) < _FRESH_S
