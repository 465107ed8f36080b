"""The life of a job: its states, how it may move between them, and how it can end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from duckrow.core.errors import IllegalTransition


class State(str, Enum):
    """Where a job is in its life."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"

    __str__ = str.__str__


class Outcome(str, Enum):
    """How a job that is done has ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OUT_OF_MEMORY = "out-of-memory"
    TIMED_OUT = "timed-out"
    KILLED = "killed"
    LOST = "lost"
    SKIPPED = "skipped"

    __str__ = str.__str__


_IN_WORDS = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.FAILED: "failed",
    Outcome.OUT_OF_MEMORY: "ran out of memory",
    Outcome.TIMED_OUT: "timed out",
    Outcome.KILLED: "was killed",
    Outcome.LOST: "was lost",
    Outcome.SKIPPED: "was skipped",
}


def state_in_words(state: str, outcome: str | None) -> str:
    """What follows "job 12": `is running`, `failed`, `was killed`."""
    return f"is {state}" if outcome is None else _IN_WORDS[Outcome(outcome)]


# The only allowed moves, each with its cause. The architecture page draws this table.
TRANSITIONS: dict[tuple[State, State], str] = {
    (State.QUEUED, State.STARTING): "its devices are free: they are booked and the start is recorded",
    (State.QUEUED, State.DONE): "killed or skipped before it started",
    (State.STARTING, State.RUNNING): "its process was seen",
    (State.STARTING, State.STOPPING): "it must stop before it was seen running",
    (State.STARTING, State.DONE): "it ended before it was seen running, or could not be started",
    (
        State.STARTING,
        State.QUEUED,
    ): "it never started: the scheduler died, or it gave up its place behind a running job",
    (State.RUNNING, State.STOPPING): "killed, over its time limit, or it left processes behind",
    (State.RUNNING, State.DONE): "its process ended, or vanished",
    (State.RUNNING, State.QUEUED): "it ended and is requeued: a retry, or exit code 75",
    (State.STOPPING, State.DONE): "all its processes are gone",
    (State.STOPPING, State.QUEUED): "all its processes are gone, and it is requeued",
    (State.DONE, State.QUEUED): "you asked for a rerun, or the GPU on which it failed is broken",
}

LIVE = (State.STARTING, State.RUNNING, State.STOPPING)
"""The states in which a job holds devices."""


def check_transition(job_id: int, before: State, after: State, history: Iterable[str] = ()) -> None:
    """Raise, with the job's history, unless the table has this move."""
    if (before, after) not in TRANSITIONS:
        story = ", ".join(history) or "nothing recorded"
        raise IllegalTransition(job_id, f"Job {job_id} cannot move from {before} to {after}. Its history: {story}.")


def left_behind(processes: Sequence[str]) -> str:
    """How to report processes that were still there when the job's own had ended."""
    count, shown = len(processes), ", ".join(processes[:_MOST_NAMED])
    more = f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
    which = (
        "1 process was still running and was stopped"
        if count == 1
        else f"{count} processes were still running and were stopped"
    )
    return f"{which}: {shown}{more}"


_MOST_NAMED = 3


def outcome_of(exit_code: int | None, signal: int | None, stopped_for: Outcome | None) -> Outcome:
    """How an attempt ended, from what the kernel reported and from why we stopped it, if we did.

    A job that exits with 0 while it is being stopped for its time limit has made use of its grace: it succeeded.
    """
    if stopped_for is Outcome.KILLED:
        return Outcome.KILLED
    if exit_code == 0:
        return Outcome.SUCCEEDED
    if stopped_for is not None:
        return stopped_for
    if signal in KILLING_SIGNALS:
        return Outcome.KILLED
    return Outcome.FAILED


# SIGINT, SIGKILL, SIGTERM: somebody wanted the job to end. Other signals (SIGSEGV, SIGABRT) are the job's own failure.
KILLING_SIGNALS = (2, 9, 15)
