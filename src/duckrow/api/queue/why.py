"""Gathers what `core.schedule.explain` needs to say why a job waits."""

from __future__ import annotations

import time

from duckrow.api.client import Client
from duckrow.api.clusters.standing import why_it_waits
from duckrow.api.devices.gpus import GpuView
from duckrow.api.devices.machine_now import machine_as_read, ownerless_mb
from duckrow.api.devices.out_of_use import drained, set_aside
from duckrow.api.devices.paces import best_of
from duckrow.api.queue.eta import run_times_of
from duckrow.core.devices.device import only_gpus
from duckrow.core.devices.inventory import Ledger, book
from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.run_source import what_to_type
from duckrow.core.jobs.title import full_name
from duckrow.core.life.dependencies import awaited_in_words
from duckrow.core.life.states import State, state_in_words
from duckrow.core.memory.prediction import HostGpus, gpus_of, predicted_ask
from duckrow.core.schedule.backfill import Shadow, Turn
from duckrow.core.schedule.decide import CORES, MEMORY
from duckrow.core.schedule.explain import Holder, WaitingJob, explain, why_held
from duckrow.store.attempts.attempts import live_attempts
from duckrow.store.batches import BatchStore
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.hosts import DAEMON, is_alive, seats_from
from duckrow.store.jobs.control import ControlStore, WaitingFacts


def why(client: Client, job_id: int) -> list[str]:
    """Why a job is not running, in sentences; for one that is not queued, its state."""
    store = ControlStore(client.database)
    facts = store.waiting_facts(job_id)
    if facts.state != State.QUEUED:
        if facts.suspended:
            return [f"it is running but suspended, because it was paused: duckrow resume {job_id}"]
        what = state_in_words(facts.state, facts.outcome)
        return [f"it is not waiting: it {what}" + (f" ({facts.detail})" if facts.detail else "")]
    now = time.time()
    batch = BatchStore(client.database).among([facts.host_id]).get(facts.host_id)
    if batch is not None:
        if facts.held:
            return [why_held(job_id)]
        waits_for = awaited_in_words(row for row in store.dependencies_of(job_id) if not row.met)
        if waits_for:
            return [f"it waits for {awaited}" for awaited in waits_for]
        standing, asks = client.tender.standings().get(batch.id), ""
        if standing is not None and standing.groups:  # the runs of its batch have different requests
            group = client.batches.group_of(job_id)
            standing, asks = standing.of_group(group), standing.groups[group].asks
        return why_it_waits(batch.name, standing, facts.detail, asks)
    host = client.hosts.get(facts.host_id)
    alive = is_alive(client.folder, host.id)
    times = run_times_of(client)
    kept = GpuView(client).readings([host] if alive else [])
    machine = machine_as_read(client, host.id, kept)
    seats = seats_from(host.seats)
    peaks, here = PeakStore(client.database).known(), gpus_of(seats, machine)
    room = {CORES: machine.cpus or 0, MEMORY: machine.mem_mb or 0}
    booked = Ledger()
    holders: list[Holder] = []
    suspended = client.jobs.suspended()
    for row in client.jobs.live():
        holds = row.holds if row.job_host_id == host.id else only_gpus(row.holds)
        book(holds, booked)
        reserved = needs_from(row.needs)
        room[CORES] -= reserved.cpus or 0
        room[MEMORY] -= reserved.mem_mb or 0
        expected = times.expected(row, row.sweep)
        left_s = None if expected is None else expected.seconds - (now - row.started_at)
        holders += [
            Holder(device, row.job_id, full_name(row.name, row.array_index), left_s, row.job_id in suspended)
            for device, _ in holds
        ]
    ahead, count = store.ahead(host.id, facts.priority, facts.position)
    pauses = client.jobs.pauses()
    limits = store.limits()
    of_project, of_array = store.running_of(host.id, facts.project, facts.array_id)
    scopes = [
        (facts.project, limits.get(f"project:{facts.project}"), of_project),
        ("its array", limits.get(f"array:{facts.array_id}"), of_array),
    ]
    full = [(what, most, running) for what, most, running in scopes if most is not None and running >= most]
    handle = client.hosts.handle(host.id, host.name)
    return explain(
        WaitingJob(
            ask=predicted_ask(facts.gpus, facts.needs, peaks, here)._replace(together=_together(client, facts, here)),
            machine=machine,
            room=room,
            held=bool(facts.held),
            wait_s=None if facts.not_before is None else facts.not_before - now,
            is_retry=facts.attempts > 0,
            paused="" if "" in pauses else facts.project if facts.project in pauses else None,
            waits_for=tuple(row for row in store.dependencies_of(job_id) if not row.met),
            limit=full[0] if full else None,
            ended_run=None if alive or host.id == DAEMON else (host.name, what_to_type(handle, host.source)),
            daemon_runs=alive,
            seats=tuple(seats),
            drained=drained(client.database, host.id),
            set_aside=set_aside(client.database, host.id),
            booked=booked,
            holders=tuple(holders),
            turn=facts,
            shadow=Shadow(time.monotonic(), [attempt for _, attempt in live_attempts(client.database)], times.expected),
            ahead=tuple(
                (Turn(row.id, row.priority, row.created_at), predicted_ask(row.gpus, row.needs, peaks, here))
                for row in ahead
            ),
            ahead_count=count,
            ownerless_mb=ownerless_mb(kept),
        )
    )


def _together(client: Client, facts: WaitingFacts, here: HostGpus) -> int | None:
    """How many jobs may share the GPU where it will start, because more did not help; None: as many as fit."""
    pace = best_of(client, needs_from(facts.needs), here.models)
    return None if pace is None else pace.together
