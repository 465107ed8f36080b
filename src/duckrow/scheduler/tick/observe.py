"""Observe: take in what has happened, and read what the decision needs, within the tick's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.clock import Now
from duckrow.core.jobs.job import QueuedJob
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.state.queue_head import HEAD
from duckrow.scheduler.tick.collaborators import Collaborators, HostPorts
from duckrow.scheduler.tick.seen import Seen
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.jobs import JobStore


class ObservePhase:
    def __init__(self, state: HostState, ports: HostPorts, collaborators: Collaborators) -> None:
        self._state = state
        self._database = ports.database
        self._host = ports.host
        self._store = ports.store
        self._jobs = JobStore(ports.database)
        self._collaborators = collaborators

    def __call__(self, now: Now) -> Seen:
        changed = self._state.begin_tick(now, self._database.changed_by_others())
        self._stand_back(changed, now)
        if changed:
            self._look_at_others()
        self._take_in_jobs(now)
        self._collaborators.watch.observe(now)
        self._collaborators.endings.settle(self._state.reports, now)
        if self._state.lined_up and self._collaborators.lining_up.wait_beside_free_device():
            self._collaborators.lining_up.stand_back(now)
        self._collaborators.enforcing.look(now)
        self._collaborators.early_starts.look(now)
        self._collaborators.growing.look(now)
        self._fulfil_wishes(changed, now)
        self._collaborators.delays.release(now)
        self._collaborators.clock_steps.look(now)
        return self._see(now.mono)

    def _stand_back(self, changed: bool, now: Now) -> None:
        """Put lined-up jobs back into the queue when something else has happened."""
        state, lining_up = self._state, self._collaborators.lining_up
        if changed or state.stop_all or not state.dispatching or lining_up.is_slow(now.mono):
            lining_up.stand_back(now)

    def _look_at_others(self) -> None:
        """Another process has written. Read again: dead hosts, bookings, limits, dependencies, learned memory."""
        state, store = self._state, self._store
        self._host.look_around()
        self._collaborators.recovery.adopt_orphans()
        state.rebook(store.reservations.of_other_hosts())
        state.limits.look(store.limits.all(), store.reservations.needs_of_other_hosts())
        store.dependencies.look()
        self._collaborators.watch.look(store.readings.looked_at_until())
        state.look_again()
        self._collaborators.delays.look()

    def _take_in_jobs(self, now: Now) -> None:
        if self._state.inbox:
            self._jobs.add(self._host.id, self._state.inbox, self._state.environment, now=now)
            self._state.queue.grew()

    def _fulfil_wishes(self, changed: bool, now: Now) -> None:
        state, collaborators = self._state, self._collaborators
        if self._host.id == DAEMON and (changed or (state.drained and state.freed)):
            collaborators.drains.observe()
        if changed:
            state.wishes.look()
        any_wishes = state.wishes.are_left
        collaborators.wishes.fulfil(now)
        if any_wishes:
            collaborators.broken_gpus.look(now)  # after the wishes: somebody may have killed the jobs that test a GPU
        for attempt in state.live.values() if state.stop_all else ():
            if state.is_own(attempt) or self._host.id == DAEMON:
                collaborators.stopping.kill(attempt, now, "interrupted", at_once=state.stop_all > 1)

    def _see(self, mono: float) -> Seen:
        state, watch = self._state, self._collaborators.watch
        live, head = state.live.values(), state.queue
        room = state.limits.room(live, state.host_id)
        queue = self._read_queue(frozenset(scope for scope, left in room.items() if left <= 0))
        machine = watch.machine(queue, mono)
        self._collaborators.early_starts.pay(machine)
        self._collaborators.early_starts.learn(queue, machine)
        if head.any_needs:
            room |= state.limits.of_machine(machine, live)
        seats = state.usable(state.seats)
        return Seen(queue, seats, machine, room, self._collaborators.learned_times.if_they_matter(queue, seats))

    def _read_queue(self, full: frozenset[str]) -> Sequence[QueuedJob]:
        """The jobs that may start. None of them belongs to a scope that has reached its limit."""
        if not self._state.may_start:
            return []
        head = self._state.queue
        if head.is_to_be_read(full):
            first = self._store.queue.eligible(HEAD, full, self._state.withheld)
            head.was_read(first, full, self._state.shunned)
        return head.jobs
