"""The port of a batch system: all that the tender, the pilots and dry runs need. A new cluster implements it.

It is here and not in `core/ports.py`, because only code that has a batch's folder uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Allocation

ANSWER_S = 60.0  # how long a batch system may take when somebody waits for its answer
SHORT_S = 10.0  # the same for a question that is answered quickly or not at all


class NoAnswer(DuckrowError):
    """The batch system did not answer, or is not ready: the same call may work later."""


class ClusterRefused(UsageError):
    """The batch system refuses this."""

    request: ClusterRequest | None = None  # what it was asked for


class TooMany(ClusterRefused):
    """It refuses this number of jobs. It may accept fewer, or the same number later."""


class JobPhase(Enum):
    """Where a job of a cluster is in its life."""

    WAITING = "waiting"
    HELD = "held"  # the batch system does not start it because something went wrong; not a job that its owner holds
    RUNNING = "running"
    ENDING = "ending"  # it may still have processes, and begins nothing more
    CANCELLED = "cancelled"
    ENDED = "ended"  # in any other way
    GONE = "gone"  # the batch system no longer knows it


class ClusterJob(NamedTuple):
    """A job as the batch system reports it."""

    phase: JobPhase
    said: str  # the batch system's own word for it, for people
    reason: str = ""  # why it waits, in the batch system's words
    ended_at: float | None = None  # by the wall clock; for a running job, when it will end

    @property
    def waits(self) -> bool:
        return self.phase in (JobPhase.WAITING, JobPhase.HELD)

    @property
    def runs(self) -> bool:
        """Whether it may have processes."""
        return self.phase in (JobPhase.RUNNING, JobPhase.ENDING)


SUBMITTED = ClusterJob(JobPhase.WAITING, "waiting")
GONE = ClusterJob(JobPhase.GONE, "gone")

States = Mapping[str, ClusterJob]
"""By job name, ARRAY_INDEX (12_3). An entry ARRAY applies to all of its jobs without an entry of their own."""


class ClusterLimits(NamedTuple):
    array_size: int = 1001  # indices of an array are less than this


class PilotJobs(NamedTuple):
    """The pilots to submit, for one group of a batch."""

    folder: str  # of the batch
    request: ClusterRequest
    python: str  # it runs `-m duckrow.scheduler.pilot FOLDER FIRST GROUP`, unless the request names another
    group: int = 0  # which of the batch's requests it is
    script: str = ""  # where a script for them may be written
    environment: Mapping[str, str] = {}  # of the user who submits; jobs start with it


class PilotArray(NamedTuple):
    """Jobs that are submitted together, each with an index."""

    indices: Sequence[int]
    first: int = 0  # passed to each of them
    at_a_time: int | None = None  # how many of them may run at once
    after: int | None = None  # an array whose end they wait for


class Question(Protocol):
    """Asks for the states of all jobs of the user, without waiting for the answer."""

    @property
    def whom(self) -> str:
        """Who was asked, as shown to people."""

    def answer(self, wait_s: float) -> States | None:
        """All jobs that it still knows, also those that ended a few minutes ago. None: not yet. Answers only once."""

    def withdraw(self) -> object:
        """Nobody needs the answer any more."""


class JobFacts(NamedTuple):
    """What a job knows about itself."""

    name: str  # ARRAY_INDEX
    array_index: int = 0
    restarts: int = 0  # how often the batch system started it again
    node: str = ""  # empty: the hostname
    scratch: str = ""  # a folder on the node's own disk; empty: none is named
    allocation: Allocation = Allocation()


class OwnJob(Protocol):
    """The cluster job that this process runs in."""

    @property
    def facts(self) -> JobFacts: ...

    def time_left_s(self) -> float | None:
        """None: it has no limit, or the limit is not known."""

    def start_again(self) -> None:
        """Have the same job started again after its end; this may end it at once."""

    def ask(self) -> Question:
        """Like `Cluster.ask`, from inside the job."""


class Cluster(Protocol):
    """A batch system. Each call may raise NoAnswer, or UsageError if this machine has no such system.

    It can be used as a key: two objects for the same batch system are equal.
    """

    def limits(self) -> ClusterLimits: ...

    def submit(self, pilots: PilotJobs, array: PilotArray) -> int:
        """The number of the array, larger than all earlier ones. ClusterRefused, TooMany: nothing was submitted.

        A job gets SIGUSR2 `request.notice_s` before its time limit, and SIGTERM when it is cancelled.
        What it prints goes to FOLDER/pilots/ARRAY_INDEX.log.
        """

    def check(self, pilots: PilotJobs) -> None:
        """Raise ClusterRefused if it would not accept such a job. Nothing is submitted."""

    def preview(self, pilots: PilotJobs, array: PilotArray) -> str:
        """What would be submitted, for people to read. The batch system is not asked."""

    def in_words(self, request: ClusterRequest) -> str:
        """What it is asked for, as a person would type it."""

    def ask(self) -> Question: ...

    def cancel(self, jobs: Sequence[str], only_waiting: bool = False) -> None:
        """Cancel these jobs, or a whole array (12). It is not an error if some have ended."""

    def command_of(self, request: ClusterRequest, command: str) -> str:
        """What a pilot runs for the command of a run: in a container, or on several nodes."""

    def own_job(self) -> OwnJob: ...


ClusterOf = Callable[[ClusterRequest], Cluster]


def late(question: Question, wait_s: float) -> NoAnswer:
    return NoAnswer(f"{question.whom} has not answered within {wait_s:g} s.")


def answer_within(question: Question, patience_s: float = ANSWER_S) -> States:
    """Wait for the answer."""
    states = question.answer(patience_s)
    if states is None:
        question.withdraw()
        raise late(question, patience_s)
    return states
