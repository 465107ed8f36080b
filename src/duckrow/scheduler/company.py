"""Telling of those with whom the GPUs are shared: whom the next job waits for, and beside whom one was started."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from duckrow.core.explain import SOON, Waiting, explain
from duckrow.core.job import LiveAttempt
from duckrow.core.machine import Machine
from duckrow.core.needs import wants_whole_gpus
from duckrow.core.neighbours import Neighbour
from duckrow.core.overtaking import Turn

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop


def why_nothing_starts(loop: Loop) -> list[str]:
    """What the first job in the queue waits for, as `duckrow why` says it; nothing if no device keeps it waiting."""
    job = loop.first_in_queue
    if job is None:
        return []
    reasons = explain(
        Waiting(
            ask=loop.watch.ask_of(job),
            held=False,
            wait_s=None,
            paused=None,
            waits_for=(),
            limit=None,
            host=None,
            daemon_runs=True,
            seats=tuple(loop.seats),
            drained=loop.drains.devices,
            booked=loop.booked,
            holders=(),
            turn=Turn(job.id, job.priority, job.created_at),
            ahead=(),
            ahead_count=0,
            machine=loop.watch.seen_machine,
        )
    )
    return [] if reasons == [SOON] else reasons


def note_own_neighbours(loop: Loop, starts: Iterable[LiveAttempt], at: float) -> None:
    """Say of each job that has a whole GPU beside a program of the user's own: within the tick's transaction."""
    machine = loop.watch.seen_machine
    if not machine.neighbours or machine.policy.share:
        return
    for attempt in starts:
        if wants_whole_gpus(loop.watch.ask_of(attempt.job)):
            for gpu, _ in attempt.holds:
                _note(loop, attempt, gpu, _own(machine, gpu), at)


def _own(machine: Machine, gpu: str) -> list[Neighbour]:
    return [neighbour for neighbour in machine.neighbours.get(gpu, ()) if neighbour.is_own]


def _note(loop: Loop, attempt: LiveAttempt, gpu: str, own: list[Neighbour], at: float) -> None:
    if not own:
        return
    sentence = f"it shares GPU {gpu} with {', '.join(map(str, own))}: no other GPU was free"
    loop.store.events.note_once(attempt, sentence, at)
    loop.observer.trouble(f"{attempt.job.words.capitalize()}: {sentence}.")
