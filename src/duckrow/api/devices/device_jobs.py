"""The devices that hosts offer, and the jobs on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from duckrow.api.devices.out_of_use import drained, set_aside_by_living
from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.jobs.title import full_name
from duckrow.store.hosts import DAEMON, seats_from

if TYPE_CHECKING:
    from duckrow.api.client import Client


def devices_with_jobs(client: Client) -> list[dict[str, Any]]:
    """Each device that a live host offers, with the jobs on it."""
    now = time.time()
    held: dict[tuple[Device, str], list[dict[str, Any]]] = {}
    names = {row.id: row.name for row in client.hosts.all()}
    suspended = client.jobs.suspended()
    for row in client.jobs.live():
        for device, share in row.holds:
            job = {
                "id": row.job_id,
                "name": full_name(row.name, row.array_index),
                "command": row.command,
                "pid": row.pid,
                "share": share / WHOLE,
                "for_s": now - row.started_at,
                "suspended": row.job_id in suspended,
            }
            held.setdefault(_key_of(device, names.get(row.job_host_id, "")), []).append(job)
    offered = {
        _key_of(device, host.name): host.name
        for host in client.living_hosts()
        for seat in seats_from(host.seats)
        for device in seat.devices
    }
    keys = sorted({*offered, *held}, key=lambda key: (key[1], len(key[0]), key[0]))
    unwanted = drained(client.database, DAEMON)
    broken = set_aside_by_living(client)
    return [
        {
            "device": key[0],
            "host": key[1] or offered.get(key, ""),
            "drained": key[0] in unwanted,
            "set_aside": broken.get(key[0]),
            "jobs": held.get(key, []),
        }
        for key in keys
    ]


def _key_of(device: Device, host: str) -> tuple[Device, str]:
    """A GPU is the same device on every host; each host has its own CPU slots."""
    return (device, host) if device.is_cpu_slot else (device, "")
