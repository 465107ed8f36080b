"""The current state of the GPUs: asks a live host to read them, and combines the readings with the jobs.

Without a live daemon, GPUs that no host offers are read here.
"""

from __future__ import annotations

import time
from typing import Any

from duckrow.api.client import Client
from duckrow.api.devices.device_jobs import devices_with_jobs
from duckrow.core.errors import StateError
from duckrow.core.memory.observation import LOOK_S, SHOWN_S, is_fresh
from duckrow.core.ports import Gpu, Reading
from duckrow.core.units import format_duration
from duckrow.kernel.process import program_of, user_of
from duckrow.store.devices.readings import KeptReading, ReadingStore
from duckrow.store.hosts import DAEMON, HostRow, seats_from

_PATIENCE_S = 1.5  # for a first answer
_LITTLE_PATIENCE_S = 0.2  # with a host that was asked before and never answered: it has no NVML
_POLL_S = 0.02

UNREAD: dict[str, Any] = {
    "model": None,
    "uuid": None,
    "total_mb": None,
    "free_mb": None,
    "utilization": None,
    "temperature": None,
    "foreign_mb": None,
    "problem": None,
    "is_asked": False,  # nobody has looked for a while: it is being read now
    "processes": [],
}


class GpuView:
    """Can look once, or again and again."""

    def __init__(self, client: Client, patient: bool = True, asked_since: float | None = None) -> None:
        """`patient`: wait a moment for a first answer. `asked_since`: monotonic time, for a caller that asks again.

        A host counts as not answering only if it was asked some time ago.
        """
        self._client = client
        self._store = ReadingStore(client.database)
        self._asked_since = asked_since
        self._time_to_answer_s = _PATIENCE_S if asked_since is None else LOOK_S
        self._patient = patient

    def devices(self) -> list[dict[str, Any]]:
        """Each device with its jobs and its reading."""
        hosts = self._client.living_hosts()
        readings = self.readings(hosts)
        sizes = dict(self._client.hosts.machine(DAEMON).total_mb)  # even if it is down: its jobs may still be running
        for host in hosts:
            sizes.update(self._client.hosts.machine(host.id).total_mb)
        is_asked = time.monotonic() - (self._asked_since or 0.0) < self._time_to_answer_s
        return [
            _described(device, readings.get(device["device"]), sizes, is_asked)
            for device in devices_with_jobs(self._client)
        ]

    def all_of_this_machine(self) -> list[dict[str, Any]]:
        """The same; without a daemon, also the GPUs that no host offers."""
        listed = self.devices()
        if self._client.daemon() is not None:
            return listed
        read = {device["device"] for device in listed if device["free_mb"] is not None}
        unread = {device["device"]: device for device in listed if device["device"] not in read}
        seen = {name: reading for name, reading in read_here().items() if name not in read}
        found = [_described(unread.get(name) or _given_out_by_nobody(name), seen[name], {}) for name in seen]
        return [*(device for device in listed if device["device"] not in seen), *found]

    def readings(self, hosts: list[HostRow], fresh_s: float = 0.0) -> dict[str, KeptReading]:
        """The known readings of the GPUs that these hosts offer. `fresh_s`: one of this age is new enough."""
        gpus = _gpus_of(hosts)
        return self._fresh(gpus, fresh_s) if gpus else {}

    def _fresh(self, gpus: dict[str, float], fresh_s: float) -> dict[str, KeptReading]:
        """Readings as recent as possible without a long wait. `gpus`: since when each one is offered."""
        asked = time.monotonic()
        before = self._looked_at_until(asked)
        if self._asked_since is None:
            self._asked_since = min(before - LOOK_S, asked) if before > asked else asked
        patience = _LITTLE_PATIENCE_S if self._is_silent(gpus, before - LOOK_S) else _PATIENCE_S
        if before < asked + LOOK_S / 2:
            try:
                self._store.look_until(asked + LOOK_S)
            except StateError:
                patience = 0.0  # we cannot write, and neither can the hosts
            self._client.ring_all()
        if not self._patient:
            return self._known(gpus)
        self._patient = False
        deadline = time.monotonic() + patience
        while True:
            known = self._known(gpus)
            if time.monotonic() >= deadline or all(gpu in known and known[gpu].mono >= asked - fresh_s for gpu in gpus):
                return known
            time.sleep(_POLL_S)

    def _looked_at_until(self, mono: float) -> float:
        """0: nobody has looked since the last boot."""
        until = self._store.looked_at_until()
        return until if until <= mono + LOOK_S else 0.0

    def _is_silent(self, gpus: dict[str, float], asked_before: float) -> bool:
        asked_at = time.time() - time.monotonic() + asked_before
        had_time = max(gpus.values()) < asked_at < time.time() - _PATIENCE_S
        return had_time and not self._known(gpus)

    def _known(self, gpus: dict[str, float]) -> dict[str, KeptReading]:
        """Readings from after the current hosts began to offer these GPUs, and from after the last boot."""
        mono, readings = time.monotonic(), self._store.readings()
        told = {gpu: readings[gpu] for gpu, since in gpus.items() if gpu in readings and readings[gpu].at >= since}
        return {gpu: reading for gpu, reading in told.items() if reading.mono <= mono}


def read_here() -> dict[str, KeptReading]:
    """Every GPU of this machine, read by ourselves. Only a host knows which processes belong to which jobs."""
    from duckrow.devices.nvml import NvmlSource

    source = NvmlSource()
    devices = {device.name: device for device in source.devices()}
    readings = source.read(list(devices)) if devices else []
    source.rest()
    return {reading.device: _kept(reading, devices[reading.device]) for reading in readings}


def _kept(reading: Reading, device: Gpu) -> KeptReading:
    processes = [{"pid": pid, "mb": mb, "job_id": None} for pid, mb in reading.processes or ()]
    told = {**reading._asdict(), "model": device.model, "uuid": device.uuid, "processes": processes}
    return KeptReading(reading.at, reading.mono, told)


def _given_out_by_nobody(gpu: str) -> dict[str, Any]:
    return {"device": gpu, "host": "", "drained": False, "set_aside": None, "jobs": []}


def _gpus_of(hosts: list[HostRow]) -> dict[str, float]:
    """Each GPU that these hosts offer, and since when."""
    gpus: dict[str, float] = {}
    for host in hosts:
        for seat in seats_from(host.seats):
            for device in seat.devices:
                if device.is_gpu:
                    gpus[device] = min(gpus.get(device, time.time()), host.started_at or 0.0)
    return gpus


def _described(
    device: dict[str, Any], reading: KeptReading | None, sizes: dict[str, int], is_asked: bool = False
) -> dict[str, Any]:
    told = {**UNREAD, "total_mb": sizes.get(device["device"])}
    if reading is not None:
        told |= {key: reading.told[key] for key in UNREAD if reading.told.get(key) not in (None, "")}
        mono = time.monotonic()
        if not is_fresh(reading.mono, mono, SHOWN_S):
            told |= {key: UNREAD[key] for key in UNREAD if key not in ("model", "uuid", "total_mb")}
            told["is_asked"] = is_asked
            told["problem"] = None if is_asked else f"it has not answered for {format_duration(mono - reading.mono)}"
        told["processes"] = [_process(process) for process in told["processes"]]
    return {**device, "jobs": [_with_memory(job, device["jobs"], told) for job in device["jobs"]], **told}


def _process(process: dict[str, Any]) -> dict[str, Any]:
    return {"ignored": False, **process, "user": user_of(process["pid"]), "program": program_of(process["pid"]) or None}


def _with_memory(job: dict[str, Any], jobs: list[dict[str, Any]], told: dict[str, Any]) -> dict[str, Any]:
    total_mb = told["total_mb"]
    reserved_mb = None if total_mb is None else round(job["share"] * total_mb)
    return {**job, "reserved_mb": reserved_mb, "used_mb": _used_mb(job, jobs, told)}


def _used_mb(job: dict[str, Any], jobs: list[dict[str, Any]], told: dict[str, Any]) -> int | None:
    """By its processes. A container may not see them: then the rest, if it is the only job there."""
    if told["free_mb"] is None:
        return None
    own = [process["mb"] for process in told["processes"] if process["job_id"] == job["id"]]
    if own:
        return None if None in own else sum(own)
    if len(jobs) == 1:
        return max(int(told["total_mb"]) - int(told["free_mb"]) - int(told["foreign_mb"] or 0), 0)
    return None if any(process["user"] is None for process in told["processes"]) else 0
