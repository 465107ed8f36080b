"""Reports other users of the GPUs: whom the next job waits for, and with whom a job shares a GPU."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import wants_whole_gpus
from duckrow.core.devices.neighbours import Neighbour
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Observer
from duckrow.core.schedule.backfill import Turn
from duckrow.core.schedule.decide import AskOf
from duckrow.core.schedule.explain import SOON, WaitingJob, explain
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.events import EventStore


def why_nothing_starts(state: HostState, watch: Watch) -> list[str]:
    """What the first job in the queue waits for, as in `duckrow why`: devices, cores, memory; empty: none of these."""
    job = state.first_in_queue
    if job is None:
        return []
    machine = state.reading.seen_machine
    reasons = explain(
        WaitingJob(
            ask=watch.ask_of(job),
            held=False,
            wait_s=None,
            paused=None,
            waits_for=(),
            limit=None,
            ended_run=None,
            daemon_runs=True,
            seats=tuple(state.seats),
            drained=state.drained,
            booked=state.booked,
            holders=(),
            turn=Turn(job.id, job.priority, job.created_at),
            ahead=(),
            ahead_count=0,
            machine=machine,
            room=state.limits.of_machine(machine, state.live.values()),
        )
    )
    return [] if reasons == [SOON] else reasons


class OwnNeighbours:
    """Reports each job that asked for a whole GPU and shares it with another program of the same user."""

    def __init__(self, state: HostState, ask_of: AskOf, events: EventStore, observer: Observer) -> None:
        self._state = state
        self._ask_of = ask_of
        self._events = events
        self._observer = observer

    def note(self, starts: Iterable[LiveAttempt], at: float) -> None:
        """Called in the tick's transaction."""
        machine = self._state.reading.seen_machine
        if not machine.neighbours or machine.policy.share:
            return
        for attempt in starts:
            if wants_whole_gpus(self._ask_of(attempt.job)):
                for gpu, _ in attempt.holds:
                    self._note(attempt, gpu, _own(machine, gpu), at)

    def _note(self, attempt: LiveAttempt, gpu: str, own: list[Neighbour], at: float) -> None:
        if not own:
            return
        sentence = f"it shares GPU {gpu} with {', '.join(map(str, own))}: no other GPU was free"
        self._events.note_once(attempt, sentence, at)
        self._observer.trouble(f"{attempt.job.words.capitalize()}: {sentence}.")


def _own(machine: Machine, gpu: str) -> list[Neighbour]:
    return [neighbour for neighbour in machine.neighbours.get(gpu, ()) if neighbour.is_own]
