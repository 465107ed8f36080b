"""The port of a batch system: all that the tender, the pilots and dry runs ask of one. A new cluster does this.

Here and not in `core/ports.py`, since only those ask who have a batch's folder at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.ports import Allocation

ANSWER_S = 60.0  # how long a batch system may think, where somebody waits for it
SHORT_S = 10.0  # for a question to which the answer is quick, if there is one


class NoAnswer(DuckrowError):
    """The batch system did not answer, or not now: the same may work in a while."""


class ClusterRefused(UsageError):
    """The batch system does not want this."""

    request: ClusterRequest | None = None  # what it was asked for


class TooMany(ClusterRefused):
    """It refuses this number of jobs: fewer may be taken, or the same later."""


class JobPhase(Enum):
    """Where a job of a cluster is in its life."""

    WAITING = "waiting"
    HELD = "held"  # the batch system keeps it from starting because something went wrong; not one that its owner holds
    RUNNING = "running"  # it may have processes
    CANCELLED = "cancelled"
    ENDED = "ended"  # in any other way
    GONE = "gone"  # the batch system does not know it any more


class ClusterJob(NamedTuple):
    """A job as the batch system tells of it."""

    phase: JobPhase
    said: str  # the batch system's own word for it, for people
    reason: str = ""  # why it waits, in its own words
    ended_at: float | None = None  # by the wall clock; of one that runs, when it will

    @property
    def waits(self) -> bool:
        return self.phase in (JobPhase.WAITING, JobPhase.HELD)

    @property
    def runs(self) -> bool:
        return self.phase is JobPhase.RUNNING


SUBMITTED = ClusterJob(JobPhase.WAITING, "waiting")
GONE = ClusterJob(JobPhase.GONE, "gone")

States = Mapping[str, ClusterJob]
"""By the name of the job, ARRAY_INDEX (12_3). One entry ARRAY may stand for all of its jobs that have none."""


class ClusterLimits(NamedTuple):
    array_size: int = 1001  # indices of an array are less than this


class PilotJobs(NamedTuple):
    """What jobs are submitted for: pilots of one group of a batch."""

    folder: str  # of the batch
    request: ClusterRequest
    python: str  # that runs `-m duckrow.scheduler.pilot FOLDER FIRST GROUP`, unless the request names another
    group: int = 0  # which of the batch's requests it is
    script: str = ""  # where a script for them may be written
    environment: Mapping[str, str] = {}  # of whoever submits; a job begins with it


class PilotArray(NamedTuple):
    """Jobs that are submitted together, each with an index."""

    indices: Sequence[int]
    first: int = 0  # is told to each of them
    at_a_time: int | None = None  # how many of them may run at once
    after: int | None = None  # an array whose end they wait for


class Question(Protocol):
    """Which jobs of the user are in which state, asked without waiting for the answer."""

    @property
    def whom(self) -> str:
        """Who was asked, for people."""

    def answer(self, wait_s: float) -> States | None:
        """All jobs that it has in mind, those that ended a few minutes ago too. None: not yet. It is given once."""

    def withdraw(self) -> object:
        """Nobody wants to know it any more."""


class JobFacts(NamedTuple):
    """What a job is told of itself."""

    name: str  # ARRAY_INDEX
    array_index: int = 0
    restarts: int = 0  # how often it was started again
    node: str = ""  # empty: as the machine is called
    scratch: str = ""  # a folder on the node's own disk; empty: nobody names one
    allocation: Allocation = Allocation()


class OwnJob(Protocol):
    """The job of a cluster that this process is in."""

    @property
    def facts(self) -> JobFacts: ...

    def time_left_s(self) -> float | None:
        """None: it has no limit, or nobody tells."""

    def start_again(self) -> None:
        """Have the same job started again when it has ended; it may be ended at once."""

    def ask(self) -> Question:
        """As `Cluster.ask`, from within."""


class Cluster(Protocol):
    """A batch system. Each call may raise NoAnswer, and UsageError where there is no such system here.

    It can be used as a key: two that speak to the same batch system are equal.
    """

    def limits(self) -> ClusterLimits: ...

    def submit(self, pilots: PilotJobs, array: PilotArray) -> int:
        """The number of the array: larger than those of earlier ones. ClusterRefused, TooMany: nothing was taken.

        A job that ends by its time limit is told `request.notice_s` before (SIGUSR2), one that is cancelled by SIGTERM.
        What it prints goes to FOLDER/pilots/ARRAY_INDEX.log.
        """

    def check(self, pilots: PilotJobs) -> None:
        """ClusterRefused, if it would not take such a job. Nothing is submitted."""

    def preview(self, pilots: PilotJobs, array: PilotArray) -> str:
        """What would be submitted, for people. Nothing is asked."""

    def in_words(self, request: ClusterRequest) -> str:
        """What it is asked for, as a person would type it."""

    def ask(self) -> Question: ...

    def cancel(self, jobs: Sequence[str], only_waiting: bool = False) -> None:
        """These jobs, or all of an array (12). It is not an error if some are over."""

    def command_of(self, request: ClusterRequest, command: str) -> str:
        """What a pilot runs for the command of a run: within a container, on several nodes."""

    def own_job(self) -> OwnJob: ...


ClusterOf = Callable[[ClusterRequest], Cluster]


def late(question: Question, wait_s: float) -> NoAnswer:
    return NoAnswer(f"{question.whom} has not answered within {wait_s:g} s.")


def answer_within(question: Question, patience_s: float = ANSWER_S) -> States:
    """For those who wait for the answer."""
    states = question.answer(patience_s)
    if states is None:
        question.withdraw()
        raise late(question, patience_s)
    return states
