"""One tick: a pure function from what is seen to what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from duckrow.core import needs
from duckrow.core.inventory import Ledger, Seat, book, unbook
from duckrow.core.job import LiveAttempt, QueuedJob
from duckrow.core.lifecycle import Outcome
from duckrow.core.machine import BARE, Machine
from duckrow.core.needs import Ask
from duckrow.core.placement import Holds, place, refusal

AskOf = Callable[[QueuedJob], Ask]


def plain_ask(job: QueuedJob) -> Ask:
    """What a job asks for when nothing has been learned."""
    return needs.ask_of(job.gpus, job.needs)


CORES, MEMORY = "cores", "memory"
"""Scopes of `room`: what is left of the machine's cores, and of its memory in MB."""


class Start(NamedTuple):
    """Run this job on these devices."""

    job: QueuedJob
    holds: Holds


class Notice(NamedTuple):
    """Tell the attempt that its time limit is near."""

    attempt: LiveAttempt


class Stop(NamedTuple):
    """Take the next step of the kill ladder: 1 is SIGTERM, 2 is SIGKILL."""

    attempt: LiveAttempt
    step: int
    reason: Outcome | None


class Decision:
    def __init__(self) -> None:
        self.starts: list[Start] = []
        self.notices: list[Notice] = []
        self.stops: list[Stop] = []
        self.wake_at: float | None = None  # when to decide again, if nothing happens before


def decide(
    now: float,
    live: Iterable[LiveAttempt],
    queue: Sequence[QueuedJob],
    seats: Sequence[Seat],
    booked: dict[str, int],
    room: dict[str, int] | None = None,
    machine: Machine = BARE,
    ask_of: AskOf = plain_ask,
) -> Decision:
    """What to start, and whom to warn or stop. `booked` is changed: it then holds the new starts too.

    `ask_of`: what a job asks for, with what is known of its like put in.
    """
    decision = Decision()
    live = list(live)
    for attempt in live:
        if attempt.follows is not None:
            continue
        if attempt.stop_began_at is not None:
            _climb_ladder(attempt, now, decision)
        elif attempt.deadline is not None:
            _watch_limit(attempt, attempt.deadline, now, decision)
    decision.starts = choose_starts(queue, seats, booked, room, Shadow(now, live), machine, ask_of)
    return decision


class Shadow:
    """When a job that waits will have its devices, if everything that runs uses its time limit to the full."""

    def __init__(self, now: float, live: Iterable[LiveAttempt]) -> None:
        self.now = now
        self._live = live
        self._started: list[Start] = []

    def note(self, start: Start) -> None:
        """One that starts in this very tick runs, too."""
        self._started.append(start)

    def starts_at(
        self, ask: Ask, seats: Sequence[Seat], booked: Mapping[str, int], machine: Machine = BARE
    ) -> float | None:
        """None: nobody knows, since what runs there has no time limit."""
        freed = Ledger(booked)
        for ends_at, holds in sorted(self._ends()):
            unbook(holds, freed)
            if place(ask, seats, freed, machine) is not None:
                return ends_at
        return None

    def _ends(self) -> Iterator[tuple[float, Holds]]:
        """When each that has a limit will have ended at the latest."""
        for attempt in self._live:
            began = attempt.deadline if attempt.stop_began_at is None else attempt.stop_began_at
            if began is not None and attempt.follows is None:
                yield began + attempt.job.grace_s, attempt.holds
        for job, holds in self._started:
            if job.timeout_s is not None:
                yield self.now + job.timeout_s + job.grace_s, holds


def choose_starts(
    queue: Sequence[QueuedJob],
    seats: Sequence[Seat],
    booked: dict[str, int],
    room: dict[str, int] | None = None,
    shadow: Shadow | None = None,
    machine: Machine = BARE,
    ask_of: AskOf = plain_ask,
) -> list[Start]:
    """The jobs that start now, in order. `room`: how many more of a limited scope may run; it is used up.

    Nobody overtakes a waiting job that wants the same kind of device, but for one whose time limit says that it will
    have ended before that job could start. Cores and memory of the machine are one kind for all.
    """
    starts: list[Start] = []
    any_gpu = any(not seat.is_cpu for seat in seats)
    room = {} if room is None else room
    machine_is_waited_for = False
    until: dict[bool, float | None] = {}  # kind -> when the first who waits for it will start, if that is known
    for job in queue:
        ask = ask_of(job)
        wants_cpu = ask.gpus == 0 or not any_gpu
        if wants_cpu in until and not _ends_before(job, until[wants_cpu], shadow):
            if (len(until) == 2 or not any_gpu) and not any(until.values()):
                break
            continue
        if any(room.get(scope, 1) <= 0 for scope in job.scopes):
            continue
        if machine_is_waited_for and (ask.cpus or ask.mem_mb):
            continue
        fits_machine = machine_has_room(ask, room)
        holds = place(ask, seats, booked, machine) if fits_machine else None
        if holds is None:
            # One that could not even start on an empty machine (its GPUs were taken away) is no reason to wait.
            if refusal(ask, seats, machine) is not None:
                continue
            machine_is_waited_for = machine_is_waited_for or not fits_machine
            if wants_cpu not in until:
                until[wants_cpu] = shadow.starts_at(ask, seats, booked, machine) if shadow else None
            continue
        book(holds, booked)
        _take_of_machine(ask, room)
        for scope in job.scopes:
            if scope in room:
                room[scope] -= 1
        starts.append(Start(job, holds))
        if shadow is not None:
            shadow.note(starts[-1])
    return starts


def machine_has_room(ask: Ask, room: Mapping[str, int]) -> bool:
    """Whether enough of the machine's cores and memory is not promised to others."""
    return room.get(CORES, ask.cpus) >= ask.cpus and room.get(MEMORY, ask.mem_mb) >= ask.mem_mb


def _take_of_machine(ask: Ask, room: dict[str, int]) -> None:
    for scope, amount in ((CORES, ask.cpus), (MEMORY, ask.mem_mb)):
        if amount and scope in room:
            room[scope] -= amount


def _ends_before(job: QueuedJob, moment: float | None, shadow: Shadow | None) -> bool:
    if moment is None or shadow is None or job.timeout_s is None:
        return False
    return shadow.now + job.timeout_s + job.grace_s <= moment


BRISK_S = 0.02
"""So much work, at the most, is lined up behind an attempt; jobs that last longer are not lined up at all."""

LONGEST_LINE = 16


def line_length(pace_s: float) -> int:
    """How many jobs that last so long on average may be lined up behind each attempt."""
    return min(int(BRISK_S / max(pace_s, 0.001)), LONGEST_LINE)


def choose_successors(
    tails: Sequence[LiveAttempt], queue: Sequence[QueuedJob], room: int
) -> list[tuple[LiveAttempt, QueuedJob]]:
    """Which jobs follow, on the very devices, the moment the attempts before them have ended: in turn, one each.

    `tails` are the last of each line. Only for jobs that take milliseconds, where the way through the scheduler would
    cost more than the job: a job that is lined up can no longer be overtaken.
    """
    chosen: list[tuple[LiveAttempt, QueuedJob]] = []
    for number, job in enumerate(queue[: max(room, 0) if tails else 0]):
        tail = tails[number % len(tails)]
        if job.gpus != tail.job.gpus or job.needs is not None or tail.job.needs is not None:
            break
        chosen.append((tail, job))
    return chosen


def _climb_ladder(attempt: LiveAttempt, now: float, decision: Decision) -> None:
    assert attempt.stop_began_at is not None
    if attempt.stop_step == 0:
        decision.stops.append(Stop(attempt, 1, attempt.stopped_for))
        _wake(decision, now + attempt.job.grace_s)
    elif attempt.stop_step == 1:
        kill_at = attempt.stop_began_at + attempt.job.grace_s
        if now >= kill_at:
            decision.stops.append(Stop(attempt, 2, attempt.stopped_for))
        else:
            _wake(decision, kill_at)


def _watch_limit(attempt: LiveAttempt, deadline: float, now: float, decision: Decision) -> None:
    if now >= deadline:
        decision.stops.append(Stop(attempt, 1, Outcome.TIMED_OUT))
        _wake(decision, now + attempt.job.grace_s)
        return
    _wake(decision, deadline)
    if attempt.job.notice_signal is None or attempt.noticed:
        return
    # A limit shorter than the notice is announced half-way, not at once.
    notice_at = max(deadline - attempt.job.notice_s, (attempt.started_at + deadline) / 2)
    if now >= notice_at:
        decision.notices.append(Notice(attempt))
    else:
        _wake(decision, notice_at)


def _wake(decision: Decision, at: float) -> None:
    if decision.wake_at is None or at < decision.wake_at:
        decision.wake_at = at
