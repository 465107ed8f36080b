"""Whether a run fits into the time that a cluster job has left."""

from __future__ import annotations

from collections import deque

_REMEMBERED = 20  # similar runs, the latest
_MARGIN = 1.1  # the next may take a little longer
_NEARLY_ALL = 0.95


def fits(length_s: float | None, left_s: float | None, whole_s: float | None) -> bool:
    """`left_s`, `whole_s`: of the cluster job's time; None: it has no limit, or nobody knows.

    A run that needs the whole time or more starts in a job that has just started: no other gives it more.
    """
    if length_s is None or left_s is None or whole_s is None:
        return True
    return min(length_s, whole_s * _NEARLY_ALL) <= left_s


class Lengths:
    """How long similar runs took, if they succeeded."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[float]] = {}

    def note(self, kind: str, length_s: float) -> None:
        self._seen.setdefault(kind, deque(maxlen=_REMEMBERED)).append(length_s)

    def expected_s(self, kind: str, limit_s: float | None) -> float | None:
        """How long most of them took, at most its time limit; if none is known, its time limit."""
        seen = sorted(self._seen.get(kind, ()))
        if not seen:
            return limit_s
        learned = seen[round(0.9 * (len(seen) - 1))] * _MARGIN
        return learned if limit_s is None else min(learned, limit_s)
