"""Says which jobs of a list would start now, and where; or why none. By the loop itself; its engine runs nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from duckrow.core.devices.device import Device
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.memory.observation import FRESH_S
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer, source
from duckrow.engines.dry.behaviour import FOR_EVER
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.turning import Turning
from duckrow.engines.local.processes.processes import attempts_of
from duckrow.scheduler.devices.neighbours import why_nothing_starts
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.scheduler.simulation.scratch import scratch_folder
from duckrow.store.folder.state_folder import Folder, existing_folder
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores

_NO_HOST = 0  # whatever is booked, another host has booked it


class _Starts(Observer):
    def __init__(self) -> None:
        self.devices: dict[int, Sequence[Device]] = {}  # by job

    def starting(self, attempt: LiveAttempt) -> None:
        self.devices[attempt.job.id] = [device for device, _ in attempt.holds]


class Preview(NamedTuple):
    starts: Mapping[int, Sequence[Device]]  # the devices of each job that would start now, by its place in the list
    order: Sequence[int]  # in which all would start, as far as one can tell now; by their places in the list
    waits_for: Sequence[str]  # if none would


def preview(specs: Sequence[JobSpec], offer: Offer, last_freed_first: bool = False) -> Preview:
    """What would happen now. Nothing in the state folder is changed.

    What others use of the GPUs, what other hosts have booked, limits, and what is known about memory all count, as when
    the list is really run.
    """
    real, clock, starts = existing_folder(), HandClock(), _Starts()
    machine = DryMachine(lambda _: FOR_EVER)
    machine.owners_elsewhere = lambda pids: _owners(pids, real)
    with scratch_folder() as folder:
        host = DryHost(folder, offer, machine, clock, observer=starts, source=source())
        turning = Turning(clock)
        turning.add(host.reactor, host.loop.turn)
        turning.settle()
        if os.path.exists(real.database):
            _learn_from(real, specs, host)
        if last_freed_first:
            host.loop.state.take_last_freed_first()
        turning.advance(FRESH_S)  # what was read before it knew who has booked what no longer counts
        for spec in specs:
            host.loop.state.take_in(spec)
        turning.advance(FRESH_S)  # to read the GPUs for them
        waits_for = [] if starts.devices else _why_none(host)
        host.close()
    now = {job_id - 1: devices for job_id, devices in starts.devices.items()}
    later = sorted((number for number in range(len(specs)) if number not in now), key=lambda at: -specs[at].priority)
    return Preview(now, [*now, *later], waits_for)


def _why_none(host: DryHost) -> list[str]:
    paused = host.loop.store.queue.paused_projects()
    if paused:
        return [f"{'everything' if '' in paused else paused[0]} is paused"]
    return why_nothing_starts(host.loop.state, host.loop.watch)


def _owners(pids: Collection[int], real: Folder) -> dict[int, int]:
    return attempts_of(pids, {}, lambda journal: os.path.exists(os.path.join(real.keepers, journal)))


def _learn_from(real: Folder, specs: Sequence[JobSpec], host: DryHost) -> None:
    """Give the host what it would find in the real database."""
    database = Database(real)
    try:
        known = TickStores(database, _NO_HOST)
        with host.database.transaction():
            host.loop.store.peaks.take_over(known.peaks, {spec.needs.recipe for spec in specs})
        for project in JobStore(database).pauses():
            JobStore(host.database).pause(project)
        host.loop.watch.learning.load()
        host.loop.state.limits.look(known.limits.all(), known.reservations.needs_of_other_hosts())
        host.loop.state.rebook(known.reservations.of_other_hosts())
    finally:
        database.close()
