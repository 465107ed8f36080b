"""One tick: a pure function from the observation to what must be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heapreplace

from duckrow.core.devices import needs
from duckrow.core.devices.device import Reservations
from duckrow.core.devices.inventory import Ledger, Seat, book
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.jobs.attempt import LiveAttempt, Stop
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.schedule.backfill import ExpectedOf, FirstStart, Front, Shadow, unknown
from duckrow.core.schedule.tried_placements import Trials

TYPE_CHECKING = False  # most runs plan nothing
if TYPE_CHECKING:
    from duckrow.core.memory.start_plan import KeptPlan
    from duckrow.core.schedule.batch_plan import BatchPlan

AskOf = Callable[[QueuedJob], Ask]


def plain_ask(job: QueuedJob) -> Ask:
    """What a job asks for when nothing has been learned."""
    return needs.ask_of(job.gpus, job.needs)


CORES, MEMORY = "cores", "memory"
"""Scopes of `room`: what is left of the machine's cores, and of its memory in MB."""


class Start(NamedTuple):
    """Run this job on these devices."""

    job: QueuedJob
    holds: Reservations
    owed: int | None = None  # the share of its GPU that it will need, if it starts early, with less


class Notice(NamedTuple):
    """Tell the attempt that its time limit is near."""

    attempt: LiveAttempt


class StopStep(NamedTuple):
    """Take the next step of stopping: 1 is SIGTERM, 2 is SIGKILL."""

    attempt: LiveAttempt
    step: int
    begins_for: Outcome | None = None  # why it is stopped, if that begins only now


class Decision(NamedTuple):
    starts: Sequence[Start] = ()
    notices: Sequence[Notice] = ()
    stops: Sequence[StopStep] = ()
    wake_mono: float | None = None  # when to decide again, if nothing happens before
    plans: Sequence[BatchPlan] | None = None  # of batches, to remember; None: those that are known
    start_plan: KeptPlan | None = None  # of jobs that grow, to remember


def decide(
    mono: float,
    live: Iterable[LiveAttempt],
    queue: Sequence[QueuedJob],
    seats: Sequence[Seat],
    booked: Ledger,
    room: Mapping[str, int] | None = None,
    machine: Machine = BARE,
    ask_of: AskOf = plain_ask,
    expected_of: ExpectedOf = unknown,
) -> Decision:
    """What to start, and whom to warn or stop. Nothing that is given is changed.

    `mono`: the time, by the clock that measures limits and graces.
    `ask_of`: what a job asks for, completed with what is known about similar jobs. `expected_of`: how long it runs.
    """
    live = list(live)
    signals = _Signals(mono)
    for attempt in live:
        if attempt.follows is not None:
            continue
        if attempt.stop is not None:
            signals.climb_ladder(attempt, attempt.stop)
        elif attempt.deadline_mono is not None:
            signals.watch_limit(attempt, attempt.deadline_mono)
    shadow = Shadow(mono, live, expected_of)
    starts = choose_starts(queue, seats, booked, room, shadow, machine, ask_of) if queue else []
    return Decision(starts, signals.notices, signals.stops, signals.wake_mono)


def choose_starts(
    queue: Sequence[QueuedJob],
    seats: Sequence[Seat],
    booked: Ledger,
    room: Mapping[str, int] | None = None,
    shadow: Shadow | None = None,
    machine: Machine = BARE,
    ask_of: AskOf = plain_ask,
) -> list[Start]:
    """The jobs that start now, in order. `room`: how many more of a limited scope may run.

    A job overtakes one that waits for the same kind of device only if `Front` (core/schedule/backfill.py) lets it
    pass. Cores and memory of the machine are one kind for all.
    """
    choice = _Choice(seats, Ledger(booked), dict(room or {}), shadow, machine)
    for job in queue:
        ask = ask_of(job)
        front = choice.for_slots if ask.gpus == 0 else choice.for_gpus
        if front.is_closed:
            if choice.is_over:
                break
            continue
        passes = front.is_empty or front.lets_pass(job, ask)
        if (passes or not front.is_shut) and not choice.is_held_up(job, ask):
            choice.weigh(job, ask, front, passes)
    return choice.starts


class _Choice:
    """Which jobs start, as far as we have looked at the queue. It books in its own copies."""

    def __init__(
        self,
        seats: Sequence[Seat],
        booked: Ledger,
        room: dict[str, int],
        shadow: Shadow | None,
        machine: Machine,
    ) -> None:
        self.starts: list[Start] = []
        self.for_slots = Front()
        self.for_gpus = Front() if any(not seat.is_cpu for seat in seats) else self.for_slots
        self.is_over = False  # no more jobs start in this tick
        self._booked, self._room, self._shadow = booked, room, shadow
        self._trials = Trials(seats, booked, machine)
        self._machine_is_waited_for = False
        self._in_vain: set[Ask] = set()  # what was not available: many jobs of a queue ask for the same
        if not any(seat.is_cpu for seat in seats):
            self.for_slots.shut()

    def is_held_up(self, job: QueuedJob, ask: Ask) -> bool:
        """Whether it may not start even if devices are free, so that no job has to wait for it."""
        if self._room and any(self._room.get(scope, 1) <= 0 for scope in job.scopes):
            return True
        return self._machine_is_waited_for and bool(ask.cpus or ask.mem_mb)

    def weigh(self, job: QueuedJob, ask: Ask, front: Front, passes: bool) -> None:
        if ask in self._in_vain:
            self._wait(job, ask, front)
            return
        fits_machine = machine_has_room(ask, self._room)
        holds = self._trials.place(ask) if passes and fits_machine else None
        if holds is not None:
            self._start(job, ask, holds)
        elif self._trials.is_possible(ask):  # its GPUs may have been removed: then it waits for nothing
            if passes and fits_machine:
                self._in_vain.add(ask)
            self._wait(job, ask, front, for_machine=passes and not fits_machine)

    def _wait(self, job: QueuedJob, ask: Ask, front: Front, for_machine: bool = False) -> None:
        trials, start = self._trials, None
        if front.is_empty and self._shadow is not None:
            start = FirstStart(ask, self._shadow, trials.seats, trials.booked, trials.machine)
        front.join(job, ask, start)
        if for_machine:
            self._machine_is_waited_for = True
            front.shut()
        self.is_over = self.for_slots.is_closed and self.for_gpus.is_closed

    def _start(self, job: QueuedJob, ask: Ask, holds: Reservations) -> None:
        book(holds, self._booked)
        _take_of_machine(ask, self._room)
        for scope in job.scopes:
            if scope in self._room:
                self._room[scope] -= 1
        self.starts.append(Start(job, holds))
        if self._shadow is not None:
            self._shadow.note(job, holds)


def machine_has_room(ask: Ask, room: Mapping[str, int]) -> bool:
    """Whether enough cores and memory of the machine are free."""
    return room.get(CORES, ask.cpus) >= ask.cpus and room.get(MEMORY, ask.mem_mb) >= ask.mem_mb


def _take_of_machine(ask: Ask, room: dict[str, int]) -> None:
    for scope, amount in ((CORES, ask.cpus), (MEMORY, ask.mem_mb)):
        if amount and scope in room:
            room[scope] -= amount


BRISK_S = 0.025
"""At most this much work is lined up behind an attempt, or a single job of up to `SHORT_S`."""

SHORT_S = 0.1
"""Longer jobs are not lined up at all."""

LONGEST_LINE = 50

_QUICKEST_S = 0.0005  # no job takes less


def line_length(pace_s: float) -> int:
    """How many jobs of this average duration may be lined up behind each attempt."""
    if pace_s > BRISK_S:
        return 1 if pace_s <= SHORT_S else 0
    return min(int(BRISK_S / max(pace_s, _QUICKEST_S)), LONGEST_LINE)


def choose_successors(
    lines: Sequence[tuple[LiveAttempt, int]], queue: Sequence[QueuedJob], room: int
) -> list[tuple[LiveAttempt, QueuedJob]]:
    """Which jobs follow on the same devices as soon as the attempts before them end: each where the fewest wait.

    `lines`: the last attempt of each, and how many wait in it. This is only for jobs of a few milliseconds, where a
    tick would cost more than the job. A job that is lined up can no longer be overtaken.
    """
    chosen: list[tuple[LiveAttempt, QueuedJob]] = []
    shortest = [(waiting, number) for number, (_, waiting) in enumerate(lines)]
    heapify(shortest)
    for job in queue[: max(room, 0) if lines else 0]:
        waiting, number = shortest[0]
        tail = lines[number][0]
        if job.gpus != tail.job.gpus or job.needs is not None or tail.job.needs is not None:
            break
        chosen.append((tail, job))
        heapreplace(shortest, (waiting + 1, number))
    return chosen


class _Signals:
    """Which attempts are warned or stopped, as far as we have looked at them."""

    def __init__(self, mono: float) -> None:
        self.notices: list[Notice] = []
        self.stops: list[StopStep] = []
        self.wake_mono: float | None = None
        self._mono = mono

    def climb_ladder(self, attempt: LiveAttempt, stop: Stop) -> None:
        """One grace time in total: an attempt that is stopped again, say by the next host, gets no second one."""
        kill_mono = stop.began_mono + attempt.job.grace_s
        if stop.step == 0:
            self.stops.append(StopStep(attempt, 1))
            self._wake(max(kill_mono, self._mono))
        elif stop.step == 1:
            if self._mono >= kill_mono:
                self.stops.append(StopStep(attempt, 2))
            else:
                self._wake(kill_mono)

    def watch_limit(self, attempt: LiveAttempt, deadline: float) -> None:
        if self._mono >= deadline:
            self.stops.append(StopStep(attempt, 1, Outcome.TIMED_OUT))
            self._wake(self._mono + attempt.job.grace_s)
            return
        self._wake(deadline)
        if attempt.job.notice_signal is None or attempt.noticed:
            return
        # A limit shorter than the notice is announced half-way, not at once.
        notice_mono = max(deadline - attempt.job.notice_s, (attempt.started.mono + deadline) / 2)
        if self._mono >= notice_mono:
            self.notices.append(Notice(attempt))
        else:
            self._wake(notice_mono)

    def _wake(self, mono: float) -> None:
        if self.wake_mono is None or mono < self.wake_mono:
            self.wake_mono = mono
