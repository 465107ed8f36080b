"""Gathering what `core.explain` needs to say why a job waits."""

from __future__ import annotations

import json
import time

from duckrow.api.client import Client
from duckrow.api.history import history_of
from duckrow.core.explain import Holder, Waiting, explain
from duckrow.core.inventory import CPU, book
from duckrow.core.lifecycle import State
from duckrow.store.control import ControlStore
from duckrow.store.hosts import DAEMON, is_alive, seats_from


def why(client: Client, job_id: int) -> list[str]:
    """Why a job is not running, in sentences; for one that does not wait, what it does."""
    store = ControlStore(client.database)
    facts = store.waiting_facts(job_id)
    if facts["state"] != State.QUEUED:
        what = facts["outcome"] or facts["state"]
        return [f"it does not wait: it is {what}" + (f" ({facts['detail']})" if facts["detail"] else "")]
    now = time.time()
    host = client.hosts.get(facts["host_id"])
    alive = is_alive(client.folder, host.id)
    history = history_of(client)
    booked: dict[str, int] = {}
    holders: list[Holder] = []
    for row in client.jobs.live():
        holds = [
            (d, share)
            for d, share in json.loads(row["holds"])
            if not d.startswith(CPU) or row["job_host_id"] == host.id
        ]
        book(holds, booked)
        expected_s = history.expected_s(row["project"], row["name"])
        left_s = None if expected_s is None else expected_s - (now - row["started_at"])
        holders += [Holder(device, row["job_id"], row["name"], left_s) for device, _ in holds]
    ahead, count = store.ahead(host.id, facts["priority"], facts["position"])
    pauses = client.jobs.pauses()
    wishes = store.device_wishes() if host.id == DAEMON else {}
    limits = store.limits()
    of_project, of_array = store.running_of(host.id, facts["project"], facts["array_id"])
    scopes = [
        (facts["project"], limits.get(f"project:{facts['project']}"), of_project),
        ("its array", limits.get(f"array:{facts['array_id']}"), of_array),
    ]
    full = [(what, most, running) for what, most, running in scopes if most is not None and running >= most]
    return explain(
        Waiting(
            gpus=facts["gpus"],
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
            drained=frozenset(device for device, wish in wishes.items() if wish != "add"),
            booked=booked,
            holders=tuple(holders),
            ahead=tuple((row["id"], row["gpus"]) for row in ahead),
            ahead_count=count,
        )
    )
