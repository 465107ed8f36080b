"""Whether a batch is stuck: runs wait, no cluster job is left, and submitting more would be wrong.

If you cancel all living jobs, you mean the batch; if you cancel one of several, you do not mean the others. So the
last cluster job to end decides. And jobs that ended before they did anything would do so again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple

CANCELLED = "somebody cancelled its SLURM jobs"


class JobEnd(NamedTuple):
    """How a cluster job of a batch ended."""

    job: str  # as squeue names it: array_index
    cancelled: bool
    worked: bool  # it took a run, or ended because there was none to take
    ended_at: float = -math.inf  # by the wall clock; -inf: not known

    @property
    def array(self) -> int:
        return int(self.job.partition("_")[0])


def why_still(ends: Sequence[JobEnd], wanted_after: int, logs: str) -> str:
    """Why nothing more should be submitted until somebody says so; empty: more should be.

    `wanted_after`: the last array at the time when somebody asked for more. `logs`: where pilots write.
    """
    if not ends:
        return ""
    last = max(end.array for end in ends)
    if last <= wanted_after:
        return ""
    cancelled = [end.ended_at for end in ends if end.cancelled]
    by_itself = [end.ended_at for end in ends if not end.cancelled and end.worked]
    if cancelled and (not by_itself or max(cancelled) >= max(by_itself)):
        return CANCELLED
    if not any(end.worked for end in ends if end.array == last):
        return f"its SLURM jobs ended before they could do anything; see {logs}/{last}_*.log"
    return ""
