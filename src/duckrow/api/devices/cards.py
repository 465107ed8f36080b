"""Devices as the page shows them: memory, temperature, jobs, and other people's processes."""

from __future__ import annotations

import time
from typing import Any

from duckrow.api.client import Client
from duckrow.api.devices.gpus import UNREAD, GpuView
from duckrow.core.devices.device import Device
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.devices.readings import ReadingStore
from duckrow.store.hosts import DAEMON, seats_from
from duckrow.store.jobs.listed_job import LiveJob


def device_cards(client: Client, view: GpuView | None = None) -> dict[str, Any]:
    """`view`: one that has read before, so that we need not wait."""
    devices = (view or GpuView(client)).devices()
    if client.daemon() is None:
        devices = _with_unattended(client, devices)
    live = {row.job_id: row for row in client.jobs.live()}
    policy = {host.name: client.hosts.machine(host.id).policy for host in client.living_hosts()}
    return {"items": [_card(device, live, policy) for device in devices], "read_at": time.time()}


def _with_unattended(client: Client, devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the devices that the daemon offers when it is up: they still exist, and its jobs may still be running."""
    row = client.hosts.get(DAEMON)
    sizes = client.hosts.machine(DAEMON).total_mb
    own = [device for seat in seats_from(row.seats) for device in seat.devices]
    known = {(device["device"], device["host"] or row.name): device for device in devices}
    for name in own:
        nothing = {
            "device": name,
            "drained": False,
            "set_aside": None,
            "jobs": [],
            **UNREAD,
            "total_mb": sizes.get(name),
        }
        if not any(device == name and name.is_gpu for device, _ in known):
            known.setdefault((name, row.name), nothing)
    found = [{**device, "host": host, "unattended": host == row.name} for (_, host), device in known.items()]
    return sorted(found, key=lambda device: (device["host"], len(device["device"]), device["device"]))


def _card(device: dict[str, Any], live: dict[int, LiveJob], policies: dict[str, Any]) -> dict[str, Any]:
    name, total, free = Device(device["device"]), device["total_mb"], device["free_mb"]
    policy = policies.get(device["host"])
    state, why = _state_of(device)
    return {
        "name": name,
        "kind": "gpu" if name.is_gpu else "cpu",
        "index": name.gpu_number,
        "uuid": device["uuid"],
        "model": device["model"],
        "host": device["host"],
        "total_mb": total,
        "free_mb": free,
        "used_mb": None if total is None or free is None else total - free,
        "foreign_mb": device["foreign_mb"],
        "reserved_mb": None if total is None else sum(job["reserved_mb"] or 0 for job in device["jobs"]),
        "utilization": device["utilization"],
        "temperature": device["temperature"],
        "state": state,
        "why": why,
        "jobs": [_job(job, live) for job in device["jobs"]],
        "foreign": [_foreign(process) for process in device["processes"] if process.get("job_id") is None],
        "jobs_per_gpu": None if policy is None else policy.jobs_per_gpu,
    }


def _state_of(device: dict[str, Any]) -> tuple[str, str | None]:
    if device.get("unattended"):
        jobs = "; its jobs keep running" if device["jobs"] else ""
        return "unattended", f"the daemon is not running: nothing starts here{jobs}"
    if device["set_aside"]:
        return "set-aside", f"{device['set_aside']}. Reset it or restart the machine, then use it again"
    if device["problem"]:
        return "missing", device["problem"]
    if device["is_asked"]:
        return "asked", "it is being read"
    if device["drained"]:
        return "draining", "it gets no new job"
    if device["jobs"]:
        return "busy", None
    return ("foreign", "somebody else is using it") if device["foreign_mb"] else ("free", None)


def _job(job: dict[str, Any], live: dict[int, LiveJob]) -> dict[str, Any]:
    row = live.get(job["id"])
    return {
        "id": job["id"],
        "name": job["name"],
        "project": None if row is None else row.project,
        "pid": job["pid"],
        "state": "running" if row is None else row.state,
        "share": job["share"],
        "reserved_mb": job["reserved_mb"],
        "used_mb": job["used_mb"],
        "for_s": job["for_s"],
    }


def _foreign(process: dict[str, Any]) -> dict[str, Any]:
    return {"pid": process["pid"], "user": process["user"], "command": process["program"], "used_mb": process["mb"]}


class DeviceReading(NamedTuple):
    """The last reading of a GPU that a host took for itself."""

    at: float
    used_mb: int | None
    utilization: float | None
    temperature: float | None
    jobs_mb: dict[int, int]  # what each job uses there, where known


def latest_readings(client: Client) -> dict[str, DeviceReading]:
    """This asks no host for new readings."""
    readings: dict[str, DeviceReading] = {}
    for device, kept in ReadingStore(client.database).readings().items():
        total, free = kept.told.get("total_mb"), kept.told.get("free_mb")
        used = None if total is None or free is None else total - free
        readings[device] = DeviceReading(
            kept.at, used, kept.told.get("utilization"), kept.told.get("temperature"), _jobs_mb(kept.told)
        )
    return readings


def _jobs_mb(told: dict[str, Any]) -> dict[int, int]:
    taken: dict[int, int] = {}
    for process in told.get("processes") or []:
        if process.get("job_id") is not None and process.get("mb") is not None:
            taken[process["job_id"]] = taken.get(process["job_id"], 0) + process["mb"]
    return taken
