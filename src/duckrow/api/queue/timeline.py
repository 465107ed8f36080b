"""What ran on which device when."""

from __future__ import annotations

import time
from typing import Any

from duckrow.api.client import Client
from duckrow.api.devices.device_jobs import devices_with_jobs
from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.errors import UsageError
from duckrow.core.jobs.title import full_name
from duckrow.store.jobs.answers import AnswerStore, AttemptSpan

MOST_BARS = 5000
_HOUR = 3600.0


def timeline(client: Client, begin: float | None = None, end: float | None = None) -> dict[str, Any]:
    """A lane for each device, with a bar for each attempt on it. By default the last hour."""
    end = time.time() if end is None else end
    begin = end - _HOUR if begin is None else begin
    if begin >= end:
        raise UsageError("A timeline begins before it ends: `from` must be less than `to`.")
    rows = AnswerStore(client.database).attempts_between(begin, end, MOST_BARS + 1)
    sizes: dict[str, int] = {}
    for host in client.hosts.open_hosts():
        sizes.update(client.hosts.machine(host.id).total_mb)
    lanes: dict[str, list[dict[str, Any]]] = {device["device"]: [] for device in devices_with_jobs(client)}
    for row in reversed(rows[:MOST_BARS]):
        for device, share in row.holds:
            lanes.setdefault(device, []).append(_bar(row, share, sizes.get(device)))
    return {
        "from": begin,
        "to": end,
        "lanes": [{"device": device, "bars": bars} for device, bars in sorted(lanes.items(), key=_lane_order)],
        "truncated": len(rows) > MOST_BARS,
    }


def _bar(row: AttemptSpan, share: int, total_mb: int | None) -> dict[str, Any]:
    return {
        "job": row.job_id,
        "attempt": row.number,
        "name": full_name(row.name, row.array_index),
        "project": row.project,
        "host": row.host,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "outcome": row.outcome,
        "share": share / WHOLE,
        "reserved_mb": None if total_mb is None else round(total_mb * share / WHOLE),
    }


def _lane_order(lane: tuple[str, Any]) -> tuple[bool, int, str]:
    """GPUs before CPU slots, each by number."""
    return Device(lane[0]).is_cpu_slot, len(lane[0]), lane[0]
