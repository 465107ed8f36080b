"""GPU memory that one attempt uses over time: now, at most, on average, and whether that can be trusted.

All times here are monotonic.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

FLAT_S = 3.0
"""An attempt's use must be unchanged for this long before it counts as final."""

_IDLE_FLAT_S = 15.0
"""The same while its GPU is idle: the job is still reading its data, and will take its memory later."""

_LEAST_FLAT_S = 1.0
"""The same, at least, if those that may join it take their time: three readings."""

_LONGEST_FLAT_S = 60.0
"""The same, at most, for one that grows in steps: it must be flat for twice its longest step so far."""

_STEADY_MB, _STEADY_SHARE = 32, 0.02
_EARLY, _LATE = 0.8, 2.0  # times its last rest: when it may grow again; later, it has stopped growing
_CURVE_POINTS = 200

Point = tuple[float, int, int]
"""Of a curve: seconds since the start of the attempt, MB, percent."""


class Use:
    def __init__(self, started_mono: float) -> None:
        self._started_mono = started_mono
        self._recent: deque[tuple[float, int, float | None]] = deque()  # (when, MB, percent), enough to tell if flat
        self.mb: dict[str, int] = {}  # on each GPU, by the last reading
        self.peak_mb = 0  # on the GPU where it used most
        self.is_guess = False  # the driver did not say whose memory it was, and others of ours were there
        self._busy_sum, self._busy_count = 0.0, 0
        self.curve: list[Point] = []  # never more than a few hundred points
        self._step_s = 0.0  # no two points of the curve are closer than this
        self.first_s: float | None = None  # seconds from its start until it used any memory
        self._grown_mono: float | None = None  # when it last used more than ever before
        self._longest_stair_s = 0.0  # between two such moments
        self._last_stair: tuple[float, int] | None = None  # seconds between the last two of them, and by how many MB

    def note(self, mono: float, mb: Mapping[str, int], busy: float | None) -> None:
        self.mb = dict(mb)
        most = max(mb.values(), default=0)
        if most and self.first_s is None:
            self.first_s = mono - self._started_mono
        if not _is_steady(self.peak_mb, most) and most > self.peak_mb:
            if self._grown_mono is not None:
                self._last_stair = mono - self._grown_mono, most - self.peak_mb
                self._longest_stair_s = max(self._longest_stair_s, mono - self._grown_mono)
            self._grown_mono = mono
        self.peak_mb = max(self.peak_mb, most)
        self._recent.append((mono, most, busy))
        while self._recent and self._recent[0][0] < mono - _IDLE_FLAT_S - FLAT_S:
            self._recent.popleft()
        if busy is not None:
            self._busy_sum, self._busy_count = self._busy_sum + busy, self._busy_count + 1
        self._draw(mono - self._started_mono, most, busy)

    def forget_guess(self) -> None:
        """From now on the driver says whose memory it is: discard what was guessed before."""
        self.is_guess = False
        self.peak_mb, self._grown_mono, self._longest_stair_s, self._last_stair = 0, None, 0.0, None

    def resume(self, curve: Sequence[Point]) -> None:
        """Continue from what an earlier host has seen."""
        self.curve = list(curve)
        self.peak_mb = max((mb for _, mb, _ in curve), default=0)
        self._busy_sum, self._busy_count = float(sum(busy for _, _, busy in curve)), len(curve)
        self._step_s = curve[-1][0] / _CURVE_POINTS if curve else 0.0

    def is_flat(self, mono: float, ahead_s: float = 0.0) -> bool:
        """Whether it uses memory, and the amount has not changed for a while.

        `ahead_s`: how long those that may join it take before they use any memory. By then, the while is over.
        """
        is_idle = all(busy == 0 for at, _, busy in self._recent if at >= mono - FLAT_S)
        since = mono - max((_IDLE_FLAT_S if is_idle else FLAT_S) - ahead_s, _LEAST_FLAT_S)
        window = [mb for at, mb, _ in self._recent if at >= since]
        if len(window) < 3 or self._recent[0][0] > since or min(window) == 0:
            return False
        return _is_steady(min(window), max(window)) and not self._may_be_on_a_stair(mono)

    def _may_be_on_a_stair(self, mono: float) -> bool:
        """Whether it has grown before after a pause as long as this one."""
        grown_mono = self._grown_mono if self._grown_mono is not None else -math.inf
        return mono - grown_mono < min(2 * self._longest_stair_s, _LONGEST_FLAT_S)

    @property
    def last_growth_mb(self) -> int:
        """By how much it grew last, if it has grown more than once."""
        return 0 if self._last_stair is None else self._last_stair[1]

    def grows_by_mb(self, mono: float, within_s: float) -> int:
        """How much more it will use by then if it grows as it did last: by as much, after as long a rest."""
        if self._last_stair is None or self._grown_mono is None:
            return 0
        stair_s, mb = self._last_stair
        rests_s = mono - self._grown_mono
        return mb if _EARLY * stair_s - within_s <= rests_s <= _LATE * stair_s else 0

    @property
    def grown_s(self) -> float | None:
        """Its age when it last used more than ever before; None: it never did, or nobody saw it."""
        return None if self._grown_mono is None else self._grown_mono - self._started_mono

    @property
    def utilization(self) -> float | None:
        """The mean, in percent."""
        return self._busy_sum / self._busy_count if self._busy_count else None

    @property
    def busy_while_used(self) -> float | None:
        """The mean since it took any memory: before that, it imports."""
        busy = [percent for _, mb, percent in self.curve if mb]
        return sum(busy) / len(busy) if busy else None

    def _draw(self, since_s: float, mb: int, busy: float | None) -> None:
        if self.curve and since_s - self.curve[-1][0] < self._step_s:
            return
        self.curve.append((round(since_s, 1), mb, round(busy or 0)))
        if len(self.curve) > _CURVE_POINTS:
            self.curve = self.curve[::2]
            self._step_s = max(self._step_s * 2, 2 * since_s / _CURVE_POINTS)


def _is_steady(less_mb: int, more_mb: int) -> bool:
    return more_mb - less_mb <= max(_STEADY_MB, _STEADY_SHARE * more_mb)
