"""Which devices a host gets when nobody names any."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from duckrow.core.device_names import any_uuid, called, name_of, with_names, written_names
from duckrow.core.errors import UsageError
from duckrow.core.inventory import Seat, cpu_seats, looks_like_devices, parse_gpus, split_sizes
from duckrow.core.machine import NO_POLICY, Machine, Policy
from duckrow.core.ports import Device, DeviceSource
from duckrow.devices.nvml import NvmlSource


def find_gpus(source: DeviceSource | None = None, environment: Mapping[str, str] = os.environ) -> list[Device]:
    """The GPUs of this machine; of those, the ones that an inherited CUDA_VISIBLE_DEVICES leaves."""
    return _visible((source or NvmlSource()).devices(), environment)


def _visible(found: list[Device], environment: Mapping[str, str]) -> list[Device]:
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return found
    names = [name.strip() for name in visible.split(",") if name.strip()]
    chosen = [device for name in names for device in called(name, found)]
    return list(dict.fromkeys(chosen))


def cores() -> int:
    """The cores that we may use, not those that there are."""
    return len(os.sched_getaffinity(0))


def source() -> DeviceSource:
    """Who can be asked about the GPUs of this machine."""
    return NvmlSource()


class Offer(NamedTuple):
    """What a host may give out."""

    seats: list[Seat]
    machine: Machine
    written: Mapping[str, str] = {}  # how those that were named were written


def offer_of(
    gpus: Sequence[str] | None,
    slots: int | None,
    jobs_per_gpu: int | None,
    *,
    with_cpu_slots: bool,
    policy: Policy = NO_POLICY,
    by_memory: bool = False,
    ask_sizes: bool = False,
) -> Offer:
    """The devices that the user names, else all GPUs, else one CPU slot a core.

    `with_cpu_slots`: beside GPUs there are slots for jobs that need none. `by_memory`: jobs will ask for memory, so it
    must be known how much there is, and a number of jobs for each GPU is the most that may share it. `ask_sizes`: that
    it is to be known although a number of jobs makes slots.
    """
    tokens, sizes = split_sizes(gpus or ())
    look = slots is None if gpus is None else "all" in gpus or by_memory or ask_sizes
    there = NvmlSource().devices() if look or any_uuid([*tokens, *policy.prefer]) else []
    named = [token for token in tokens if looks_like_devices(token)]
    written = {name: word for token in named for name, word in written_names(token, there).items()}
    tokens = [with_names(token, there) if token in named else token for token in tokens]
    policy = policy._replace(prefer=tuple(name_of(written, there) for written in policy.prefer))
    machine = Machine(policy=policy, cpus=cores(), mem_mb=memory_mb())
    if gpus is None and slots is not None:
        return Offer(cpu_seats(slots), machine)
    found = _visible(there, os.environ) if look else []
    if gpus is None:
        tokens = ["all"] if found else []
    if not tokens:
        return Offer(cpu_seats(cores()), machine)
    if by_memory:
        machine = machine._replace(policy=policy._replace(jobs_per_gpu=jobs_per_gpu))
        jobs_per_gpu = None
    seats = parse_gpus(tokens, jobs_per_gpu or 1, [device.name for device in found])
    if slots is not None or with_cpu_slots:
        seats += cpu_seats(slots or cores(), first=sum(seat.is_cpu for seat in seats), side=with_cpu_slots)
    known = {device.name: device.memory_mb for device in found if device.memory_mb is not None}
    return Offer(seats, machine._replace(total_mb={**known, **_by_name(sizes, there)}), written)


def _by_name(sizes: Mapping[str, int], there: Sequence[Device]) -> dict[str, int]:
    """What a person has said of the GPUs, which may be written in two ways."""
    named: dict[str, int] = {}
    for written, size in sizes.items():
        name = name_of(written, there)
        if named.setdefault(name, size) != size:
            raise UsageError(f"GPU {name} was given two sizes. Name it once, as in {name}:24G.")
    return named


def memory_mb() -> int | None:
    """Of the machine, or of the part that a container may use."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (OSError, ValueError):
        return None
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            limit = file.read().strip()
        return min(total, int(limit) >> 20) if limit.isdigit() else total
    except OSError:
        return total
