"""The machine according to a host's last readings, for `why` and previews."""

from __future__ import annotations

import time
from collections.abc import Mapping

from duckrow.api.client import Client
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.neighbours import Neighbour, noticeable_mb
from duckrow.core.memory.observation import is_fresh
from duckrow.kernel.process import user_name
from duckrow.store.devices.readings import KeptReading
from duckrow.store.hosts import seats_from

_WORTH_TELLING_MB = 1024


def machine_as_read(client: Client, host_id: int, kept: Mapping[str, KeptReading]) -> Machine:
    """The host's machine, with the last reported memory use of others.

    As for the host itself, nothing is free on a GPU that can be read but was not read lately. `models` lists those that
    can be read; for GPUs without NVML, what a person said is all we know.
    """
    base = client.hosts.machine(host_id)
    mono = time.monotonic()
    fresh = {gpu: reading.told for gpu, reading in kept.items() if is_fresh(reading.mono, mono)}
    given_out = {device for seat in seats_from(client.hosts.get(host_id).seats) for device in seat.devices}
    unread = [gpu for gpu in base.models if gpu in given_out and gpu not in fresh]
    foreign = {gpu: int(fresh[gpu].get("foreign_mb") or 0) for gpu in base.total_mb if gpu in fresh}
    pressure = {
        gpu: -(-(foreign.get(gpu, 0) + base.policy.margin_of(total)) * WHOLE // total)
        for gpu, total in base.total_mb.items()
    } | dict.fromkeys(unread, WHOLE)
    in_the_way = {gpu: mb - _ignored_mb(kept[gpu]) for gpu, mb in foreign.items()}
    neighbours = {gpu: [Neighbour(*each) for each in told.get("neighbours") or ()] for gpu, told in fresh.items()}
    return base._replace(
        pressure=pressure,
        foreign_mb={gpu: mb for gpu, mb in in_the_way.items() if mb > noticeable_mb(base.total_mb[gpu])}
        | {gpu: max(base.total_mb.get(gpu, 0), noticeable_mb(0)) for gpu in unread},
        neighbours={gpu: found for gpu, found in neighbours.items() if found},
        unread=[*unread, *(gpu for gpu, told in fresh.items() if told.get("problem"))],
    ).with_locks(
        {gpu: user_name(told["locked_by"]) for gpu, told in fresh.items() if told.get("locked_by") is not None}
    )


def _ignored_mb(reading: KeptReading) -> int:
    """The memory of processes that do not make a GPU busy."""
    return sum(process["mb"] or 0 for process in reading.told["processes"] if process.get("ignored"))


def ownerless_mb(readings: Mapping[str, KeptReading]) -> dict[str, int]:
    """Memory in use that belongs to no process: we report it, instead of waiting silently."""
    mono = time.monotonic()
    left = {}
    for gpu, kept in readings.items():
        told, processes = kept.told, kept.told["processes"]
        used_mb = (told.get("total_mb") or 0) - (told.get("free_mb") or 0)
        left_mb = used_mb - sum(process["mb"] or 0 for process in processes)
        # `foreign_mb` excludes our own jobs; the driver keeps some memory for itself.
        is_told = is_fresh(kept.mono, mono) and all(process["mb"] is not None for process in processes)
        if is_told and min(left_mb, int(told.get("foreign_mb") or 0)) >= _WORTH_TELLING_MB:
            left[gpu] = left_mb
    return left
