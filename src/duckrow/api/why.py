"""Gathering what `core.explain` needs to say why a job waits."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from duckrow.api.client import Client
from duckrow.api.gpus import GpuView
from duckrow.api.history import history_of
from duckrow.api.out_of_use import drained, set_aside
from duckrow.core.decide import CORES, MEMORY
from duckrow.core.explain import Holder, Waiting, explain
from duckrow.core.inventory import CPU, WHOLE, Ledger, book
from duckrow.core.lifecycle import State
from duckrow.core.machine import Machine
from duckrow.core.needs import Ask, ask_of, needs_from, with_margin
from duckrow.core.observation import NOTICEABLE_MB
from duckrow.core.overtaking import Turn
from duckrow.store.control import ControlStore
from duckrow.store.hosts import DAEMON, is_alive, seats_from
from duckrow.store.readings import KeptReading, ReadingStore


def why(client: Client, job_id: int) -> list[str]:
    """Why a job is not running, in sentences; for one that does not wait, what it does."""
    store = ControlStore(client.database)
    facts = store.waiting_facts(job_id)
    if facts["state"] != State.QUEUED:
        what = facts["outcome"] or facts["state"]
        return [f"it does not wait: it is {what}" + (f" ({facts['detail']})" if facts["detail"] else "")]
    now = time.time()
    host = client.hosts.get(facts["host_id"])
    if host.kind == "slurm":
        if facts["held"]:
            return ["it is held: duckrow release"]
        note = f" ({facts['detail']})" if facts["detail"] else ""
        return [f"it waits for a SLURM job of batch {host.name} to take it{note}; `duckrow batches` shows which run"]
    alive = is_alive(client.folder, host.id)
    history = history_of(client)
    kept = GpuView(client).readings([host] if alive else [])
    machine = _machine(client, host.id, kept)
    peaks = _peaks(client)
    room = {CORES: machine.cpus or 0, MEMORY: machine.mem_mb or 0}
    booked = Ledger()
    holders: list[Holder] = []
    for row in client.jobs.live():
        holds = [
            (d, share)
            for d, share in json.loads(row["holds"])
            if not d.startswith(CPU) or row["job_host_id"] == host.id
        ]
        book(holds, booked)
        promised = needs_from(row["needs"])
        room[CORES] -= promised.cpus or 0
        room[MEMORY] -= promised.mem_mb or 0
        expected_s = history.expected_s(row["project"], row["name"])
        left_s = None if expected_s is None else expected_s - (now - row["started_at"])
        holders += [Holder(device, row["job_id"], row["name"], left_s) for device, _ in holds]
    ahead, count = store.ahead(host.id, facts["priority"], facts["position"])
    pauses = client.jobs.pauses()
    limits = store.limits()
    of_project, of_array = store.running_of(host.id, facts["project"], facts["array_id"])
    scopes = [
        (facts["project"], limits.get(f"project:{facts['project']}"), of_project),
        ("its array", limits.get(f"array:{facts['array_id']}"), of_array),
    ]
    full = [(what, most, running) for what, most, running in scopes if most is not None and running >= most]
    return explain(
        Waiting(
            ask=_ask(facts, peaks),
            machine=machine,
            room=room,
            held=bool(facts["held"]),
            wait_s=None if facts["not_before"] is None else facts["not_before"] - now,
            paused="" if "" in pauses else facts["project"] if facts["project"] in pauses else None,
            waits_for=tuple(
                (row["on_job_id"], row["condition"]) for row in store.dependencies_of(job_id) if not row["met"]
            ),
            limit=full[0] if full else None,
            host=host.name if host.id != DAEMON and not alive else None,
            daemon_runs=alive,
            seats=tuple(seats_from(host.seats)),
            drained=frozenset(drained(client.database, host.id)),
            set_aside=set_aside(client.database, host.id),
            booked=booked,
            holders=tuple(holders),
            turn=_turn(facts),
            ahead=tuple((_turn(row), _ask(row, peaks)) for row in ahead),
            ahead_count=count,
            ownerless_mb=_ownerless_mb(kept, now),
        )
    )


_FRESH_S = 30.0  # an older reading says nothing of now
_WORTH_TELLING_MB = 1024


def _machine(client: Client, host_id: int, kept: Mapping[str, KeptReading]) -> Machine:
    """The host's machine, with what others use as it was last told."""
    base = client.hosts.machine(host_id)
    mono = time.monotonic()
    foreign = {
        gpu: int(kept[gpu].told.get("foreign_mb") or 0)
        for gpu in base.total_mb
        if gpu in kept and 0 <= mono - kept[gpu].mono < _FRESH_S
    }
    pressure = {
        gpu: -(-(foreign.get(gpu, 0) + base.policy.margin_of(total)) * WHOLE // total)
        for gpu, total in base.total_mb.items()
    }
    in_the_way = {gpu: mb - _ignored_mb(kept[gpu]) for gpu, mb in foreign.items()}
    return base._replace(
        pressure=pressure, foreign_mb={gpu: mb for gpu, mb in in_the_way.items() if mb >= NOTICEABLE_MB}
    )


def _ignored_mb(reading: KeptReading) -> int:
    """What those take who make a GPU no less idle."""
    return sum(process["mb"] or 0 for process in reading.told["processes"] if process.get("ignored"))


def _ownerless_mb(readings: Mapping[str, KeptReading], now: float) -> dict[str, int]:
    """Memory that stays without a process is told, and not waited for in silence."""
    left = {}
    for gpu, kept in readings.items():
        told, processes = kept.told, kept.told["processes"]
        used_mb = (told.get("total_mb") or 0) - (told.get("free_mb") or 0)
        left_mb = used_mb - sum(process["mb"] or 0 for process in processes)
        # What others use counts ours out; the driver keeps some for itself.
        is_told = now - kept.at < _FRESH_S and all(process["mb"] is not None for process in processes)
        if is_told and min(left_mb, int(told.get("foreign_mb") or 0)) >= _WORTH_TELLING_MB:
            left[gpu] = left_mb
    return left


def _peaks(client: Client) -> dict[str, int]:
    """What each recipe has taken at most, on whatever GPU."""
    peaks: dict[str, int] = {}
    for peak in ReadingStore(client.database).peaks():
        peaks[peak.recipe] = max(peaks.get(peak.recipe, 0), peak.peak_mb)
    return peaks


def _turn(row: Any) -> Turn:
    return Turn(row["id"], row["priority"], row["created_at"])


def _ask(row: Any, peaks: Mapping[str, int]) -> Ask:
    needs = needs_from(row["needs"])
    learned = peaks.get(needs.recipe) if needs.auto else None
    return ask_of(row["gpus"], row["needs"], None if learned is None else with_margin(learned))
