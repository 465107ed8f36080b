"""Which jobs may start ahead of waiting jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from duckrow.core.devices.device import Reservations
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, unbook
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import DEFAULT_PRIORITY, QueuedJob
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.protocol import Protocol
from duckrow.core.schedule.placement import place

TYPE_CHECKING = False  # most runs never ask for it
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import ExpectedTime

TOGETHER_S = 600.0
"""Jobs that were added within this many seconds count as added together."""

MOST_OVERTAKERS = 256
"""At most this many later jobs may overtake a job because they are easier to place."""

_ENOUGH_RUNS = 4  # fewer do not tell how much run times differ

ExpectedOf = Callable[..., "ExpectedTime | None"]
"""How long a job will run, as far as similar runs tell: a queued job, or what `why` knows of one."""


def unknown(_job: object) -> None:
    """Nobody knows how long a job will run."""


def may_be_passed(queue: Sequence[QueuedJob]) -> bool:
    """Whether a job may wait while devices are free for another. One that wants a single device waits for any."""
    return len(queue) > 1 and any(job.needs is not None or (job.gpus or 0) > 1 for job in queue)


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
        self._first: FirstStart | None = None
        self._priority = 0
        self._came_by = math.inf
        self._last_id = math.inf

    def lets_pass(self, job: Comer, ask: Ask) -> bool:
        return self._came_together(job, ask) or (self._first is not None and self._first.is_after(job))

    def _came_together(self, job: Comer, ask: Ask) -> bool:
        """Whether the order of this job and the waiting ones does not matter."""
        if self.is_shut or job.priority != self._priority or not is_packed(ask):
            return False
        return job.created_at <= self._came_by and job.id <= self._last_id

    def join(self, job: Comer, ask: Ask, start: FirstStart | None = None) -> None:
        """This job waits too from now on. `start`: when it will start; only the first one counts."""
        if self.is_empty:
            self.is_empty, self._priority, self._first = False, job.priority, start
        self._came_by = min(self._came_by, job.created_at + TOGETHER_S)
        self._last_id = min(self._last_id, job.id + MOST_OVERTAKERS)
        if not is_packed(ask) or job.priority != self._priority:
            self.shut()

    def shut(self) -> None:
        """From now on, only jobs that will have ended in time go past."""
        self.is_shut = True
        self.is_closed = self._first is None or not self._first.is_known


class FirstStart:
    """When the first job that waits will start. Worked out when it matters: mostly, nobody could go past anyway.

    Nobody goes past after the time at which it was expected to start when it began to wait: whoever goes past is
    expected to end by then, and what has run for as long as expected may end any moment. So jobs that take longer
    than expected delay it by the longest of them, not by their sum.
    """

    def __init__(
        self, ask: Ask, shadow: Shadow, seats: Sequence[Seat], booked: Ledger, machine: Machine = BARE
    ) -> None:
        self._ask, self._shadow = ask, shadow
        self._seats, self._booked, self._machine = seats, booked, machine

    @property
    def is_known(self) -> bool:
        return self._at_the_latest is not None or self._expected is not None

    def is_after(self, job: Comer) -> bool:
        """Whether this job will have ended by then, if it starts now."""
        if self._at_the_latest is not None and self._shadow.latest_end(job) <= self._at_the_latest:
            return True
        return self._expected is not None and self._shadow.expected_end(job) <= self._expected

    @cached_property
    def _at_the_latest(self) -> float | None:
        return self._shadow.starts_at(self._ask, self._seats, self._booked, self._machine)

    @cached_property
    def _expected(self) -> float | None:
        devices = (device for seat in self._seats for device in seat.devices)
        if all(self._booked.get(device, 0) >= WHOLE for device in devices):
            return None  # nobody can start, so we need not look at all who would
        expected = self._shadow.expected_start(self._ask, self._seats, self._booked, self._machine)
        return None if expected is None or expected <= self._shadow.now else expected


class Shadow:
    """When jobs will have ended, and so when a waiting job will get its devices.

    There are two answers: at the latest, by time limits; and as expected, by the times of similar runs. What runs now
    is expected to end when the first of ten such runs have ended, and what starts, when nine of ten have.
    All times here are monotonic, as time limits are.
    """

    def __init__(self, now: float, live: Iterable[LiveAttempt], expected_of: ExpectedOf = unknown) -> None:
        self.now = now
        self._live = live
        self._expected_of = expected_of
        self._started: list[tuple[QueuedJob, Reservations]] = []

    def note(self, job: QueuedJob, holds: Reservations) -> None:
        """A job that starts in this tick counts as running too."""
        self._started.append((job, holds))

    def latest_end(self, job: Comer) -> float:
        """If it starts now."""
        return math.inf if job.timeout_s is None else self.now + job.timeout_s + job.grace_s

    def expected_end(self, job: Comer) -> float:
        """If it starts now. Nine in ten of such jobs have ended by then."""
        told = self._told(job)
        return min(self.latest_end(job), math.inf if told is None else self.now + told.at_most_s)

    def starts_at(self, ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine = BARE) -> float | None:
        """At the latest. None: nobody knows, because a job there has no time limit."""
        return _first_time(self._latest_ends(), ask, seats, booked, machine)

    def expected_start(self, ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine = BARE) -> float | None:
        """None: nobody knows, because too few runs are like a job there."""
        return _first_time(self._soonest_ends(), ask, seats, booked, machine)

    def _latest_ends(self) -> Iterator[tuple[float, Reservations]]:
        """Of each attempt with a time limit."""
        for attempt in self._live:
            ends_at = _limit(attempt)
            if ends_at is not None and attempt.follows is None:
                yield ends_at, attempt.holds
        for job, holds in self._started:
            if job.timeout_s is not None:
                yield self.latest_end(job), holds

    def _soonest_ends(self) -> Iterator[tuple[float, Reservations]]:
        """Of each attempt with known times, by the shortest of them; of the others, by their time limits."""
        for attempt in self._live:
            ends_at = self._soonest_end(attempt)
            if ends_at < math.inf and attempt.follows is None:
                yield ends_at, attempt.holds
        for job, holds in self._started:
            told = self._told(job)
            ends_at = min(self.latest_end(job), math.inf if told is None else self.now + told.at_least_s)
            if ends_at < math.inf:
                yield ends_at, holds

    def _soonest_end(self, attempt: LiveAttempt) -> float:
        limit = _limit(attempt)
        is_going = attempt.stop is None and attempt.suspended_mono is None and not attempt.awaits_parent
        told = self._told(attempt.job) if is_going else None
        ends_at = math.inf if limit is None else limit
        return ends_at if told is None else min(ends_at, max(attempt.started.mono + told.at_least_s, self.now))

    def _told(self, job: Comer) -> ExpectedTime | None:
        told = self._expected_of(job)
        return told if told is not None and told.runs >= _ENOUGH_RUNS else None


def _limit(attempt: LiveAttempt) -> float | None:
    """When it will have ended at the latest."""
    began = attempt.deadline_mono if attempt.stop is None else attempt.stop.began_mono
    return None if began is None else began + attempt.job.grace_s


def _first_time(
    ends: Iterable[tuple[float, Reservations]], ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine
) -> float | None:
    """When such a job has room, if attempts end then."""
    in_turn = sorted(ends)
    freed = Ledger(booked) if in_turn else booked  # mostly nothing has a limit, and nothing is to be freed
    for ends_at, holds in in_turn:
        unbook(holds, freed)
        if place(ask, seats, freed, machine) is not None:
            return ends_at
    return None
