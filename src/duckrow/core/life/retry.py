"""What follows the end of an attempt: is the job done, or is it retried, and after how long?"""

from __future__ import annotations

from duckrow.core.errors import EXIT_REQUEUE
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple

LONGEST_BACKOFF_S = 3600.0

# A job that takes the machine down with it must not do so forever.
MOST_LOSSES = 5

# A job that asks to be requeued over and over within seconds must not take the machine for itself.
_HASTY_S = 5.0


class Verdict(NamedTuple):
    """Either the job is done with this outcome, or it goes back to the queue."""

    outcome: Outcome
    again: bool
    wait_s: float = 0.0  # before it is tried again
    uses_retry: bool = False
    detail: str = ""
    is_loss: bool = False  # it goes back because its attempt was lost


def after_end(
    job: QueuedJob,
    outcome: Outcome,
    exit_code: int | None,
    ran_s: float,
    wanted_dead: bool,
    detail: str = "",
) -> Verdict:
    """`wanted_dead`: a person asked for this job to end, so it is not tried again, whatever its policy."""
    if outcome is Outcome.SUCCEEDED or wanted_dead:
        return Verdict(outcome, again=False, detail=detail)
    if exit_code == EXIT_REQUEUE:
        wait_s = _HASTY_S if ran_s < _HASTY_S else 0.0
        return Verdict(outcome, True, wait_s, detail="asked to be requeued (exit 75)")
    if outcome is Outcome.LOST and job.requeue_lost:
        if job.losses < MOST_LOSSES:
            return Verdict(outcome, True, detail=f"lost: {detail}; requeued", is_loss=True)
        detail = f"{detail}; lost {job.losses + 1} times in a row, so it is not requeued any more"
    if job.retries_used < job.retries:
        wait_s = min(job.backoff_s * 2 ** min(job.retries_used, 30), LONGEST_BACKOFF_S)
        story = f"{outcome}, retry {job.retries_used + 1} of {job.retries}"
        return Verdict(outcome, True, wait_s, uses_retry=True, detail=story)
    return Verdict(outcome, again=False, detail=detail)
