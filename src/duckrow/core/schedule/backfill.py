"""Which jobs may start ahead of waiting jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from duckrow.core.devices.device import Reservations
from duckrow.core.devices.inventory import Ledger, Seat, unbook
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.jobs.job import DEFAULT_PRIORITY, LiveAttempt, QueuedJob
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.protocol import Protocol
from duckrow.core.schedule.placement import place

TOGETHER_S = 600.0
"""Jobs that were added within this many seconds count as added together."""

MOST_OVERTAKERS = 256
"""At most this many later jobs may overtake a job because they are easier to place."""


class Comer(Protocol):
    """What decides the turn of a job."""

    @property
    def id(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def created_at(self) -> float: ...
    @property
    def timeout_s(self) -> float | None: ...
    @property
    def grace_s(self) -> float: ...


class Turn(NamedTuple):
    """Only the turn of a job."""

    id: int
    priority: int = DEFAULT_PRIORITY
    created_at: float = 0.0
    timeout_s: float | None = None
    grace_s: float = 0.0


class Front:
    """The jobs that wait for one kind of device, and the rule for going past all of them.

    A job may go past if it will have ended before the first of them could start. Packed jobs that came together may go
    past each other, so that no memory is idle. These are few for each waiting job, and known from the start, so no job
    is overtaken for ever.
    """

    def __init__(self) -> None:
        self.is_empty = True
        self.is_shut = False  # to packed jobs too
        self.is_closed = False  # to everybody
        self._starts_at: float | None = None  # the first of them, at the latest, if that is known
        self._priority = 0
        self._came_by = math.inf
        self._last_id = math.inf

    def lets_pass(self, job: Comer, ask: Ask, shadow: Shadow | None) -> bool:
        return self._ends_in_time(job, shadow) or self._came_together(job, ask)

    def _came_together(self, job: Comer, ask: Ask) -> bool:
        """Whether the order of this job and the waiting ones does not matter."""
        if self.is_shut or job.priority != self._priority or not is_packed(ask):
            return False
        return job.created_at <= self._came_by and job.id <= self._last_id

    def join(self, job: Comer, ask: Ask, starts_at: float | None = None) -> None:
        """This job waits too from now on. `starts_at`: when it will start at the latest; only the first one counts."""
        if self.is_empty:
            self.is_empty, self._priority, self._starts_at = False, job.priority, starts_at
        self._came_by = min(self._came_by, job.created_at + TOGETHER_S)
        self._last_id = min(self._last_id, job.id + MOST_OVERTAKERS)
        if not is_packed(ask) or job.priority != self._priority:
            self.shut()

    def shut(self) -> None:
        """From now on, only jobs that will have ended in time go past."""
        self.is_shut = True
        self.is_closed = self._starts_at is None

    def _ends_in_time(self, job: Comer, shadow: Shadow | None) -> bool:
        if self._starts_at is None or shadow is None or job.timeout_s is None:
            return False
        return shadow.now + job.timeout_s + job.grace_s <= self._starts_at


class Shadow:
    """When a waiting job will get its devices, if all running jobs use their whole time limit.

    All times here are monotonic, as time limits are.
    """

    def __init__(self, now: float, live: Iterable[LiveAttempt]) -> None:
        self.now = now
        self._live = live
        self._started: list[tuple[QueuedJob, Reservations]] = []

    def note(self, job: QueuedJob, holds: Reservations) -> None:
        """A job that starts in this tick counts as running too."""
        self._started.append((job, holds))

    def starts_at(self, ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine = BARE) -> float | None:
        """None: nobody knows, because a job there has no time limit."""
        ends = sorted(self._ends())
        freed = Ledger(booked) if ends else booked  # mostly nothing has a limit, and nothing is to be freed
        for ends_at, holds in ends:
            unbook(holds, freed)
            if place(ask, seats, freed, machine) is not None:
                return ends_at
        return None

    def _ends(self) -> Iterator[tuple[float, Reservations]]:
        """When each attempt with a time limit will have ended at the latest."""
        for attempt in self._live:
            began = attempt.deadline_mono if attempt.stop is None else attempt.stop.began_mono
            if began is not None and attempt.follows is None:
                yield began + attempt.job.grace_s, attempt.holds
        for job, holds in self._started:
            if job.timeout_s is not None:
                yield self.now + job.timeout_s + job.grace_s, holds
