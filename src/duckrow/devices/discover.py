"""Which devices a host gets when nobody names any."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from duckrow.core.inventory import Seat, cpu_seats, parse_gpus
from duckrow.core.ports import Device, DeviceSource
from duckrow.devices.nvml import NvmlSource


def find_gpus(source: DeviceSource | None = None, environment: Mapping[str, str] = os.environ) -> list[Device]:
    """The GPUs of this machine; of those, the ones that an inherited CUDA_VISIBLE_DEVICES leaves."""
    found = (source or NvmlSource()).devices()
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return found
    names = [name.strip() for name in visible.split(",") if name.strip()]
    chosen = [device for name in names for device in found if name == device.name or _same_uuid(name, device.uuid)]
    return list(dict.fromkeys(chosen))


def _same_uuid(name: str, uuid: str) -> bool:
    """CUDA takes the beginning of a UUID for the whole."""
    return len(name) > len("GPU-") and name.startswith("GPU-") and uuid.startswith(name)


def cores() -> int:
    """The cores that we may use, not those that there are."""
    return len(os.sched_getaffinity(0))


def seats_of(gpus: Sequence[str] | None, slots: int | None, jobs_per_gpu: int, *, with_cpu_slots: bool) -> list[Seat]:
    """The seats that the user names, else all GPUs, else one CPU slot a core.

    `with_cpu_slots`: beside GPUs there are slots for jobs that need none.
    """
    if gpus is None and slots is not None:
        return cpu_seats(slots)
    found = [device.name for device in find_gpus()] if gpus is None or "all" in gpus else []
    if gpus is None:
        gpus = ["all"] if found else None
    if gpus is None:
        return cpu_seats(cores())
    seats = parse_gpus(gpus, jobs_per_gpu, found)
    if slots is not None or with_cpu_slots:
        seats += cpu_seats(slots or cores(), first=sum(seat.is_cpu for seat in seats), side=with_cpu_slots)
    return seats
