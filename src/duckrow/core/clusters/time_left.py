"""Whether a run fits into the time that a cluster job has left."""

from __future__ import annotations

from duckrow.core.schedule.run_times import ExpectedTime

_MARGIN = 1.1  # the next may take a little longer
_NEARLY_ALL = 0.95


def fits(length_s: float | None, left_s: float | None, whole_s: float | None) -> bool:
    """`left_s`, `whole_s`: of the cluster job's time; None: it has no limit, or nobody knows.

    A run that needs the whole time or more starts in a job that has just started: no other gives it more.
    """
    if length_s is None or left_s is None or whole_s is None:
        return True
    return min(length_s, whole_s * _NEARLY_ALL) <= left_s


def length_to_fit(expected: ExpectedTime | None, limit_s: float | None) -> float | None:
    """How much time to want for a run: what nearly all similar runs took, at most its time limit."""
    if expected is None:
        return limit_s
    learned = expected.at_most_s * _MARGIN
    return learned if limit_s is None else min(learned, limit_s)
