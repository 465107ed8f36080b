"""Whether a run fits into the time that a cluster job has left."""

from __future__ import annotations

from duckrow.core.schedule.run_times import ExpectedTime

_MARGIN = 1.1  # the next may take a little longer
_NEARLY_ALL = 0.95


def fits(length_s: float | None, left_s: float | None, whole_s: float | None) -> bool:
    """`left_s`, `whole_s`: of the cluster job's time; None: it has no limit, or nobody knows."""
    return length_s is None or left_s is None or any_fits(left_s, whole_s) or length_s <= left_s


def any_fits(left_s: float | None, whole_s: float | None) -> bool:
    """Whether a run fits however long it takes.

    A run that needs the whole time or more starts in a job that has just started: no other gives it more.
    """
    return left_s is None or whole_s is None or whole_s * _NEARLY_ALL <= left_s


def length_to_fit(expected: ExpectedTime | None, limit_s: float | None) -> float | None:
    """How much time to want for a run: what nearly all similar runs took, at most its time limit."""
    if expected is None:
        return limit_s
    learned = expected.at_most_s * _MARGIN
    return learned if limit_s is None else min(learned, limit_s)
