"""Which devices a host gets when nobody names any."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from duckrow.core.errors import UsageError
from duckrow.core.inventory import Seat, cpu_seats, parse_gpus, split_sizes
from duckrow.core.machine import NO_POLICY, Machine, Policy
from duckrow.core.ports import Device, DeviceSource
from duckrow.devices.nvml import NvmlSource

_UUID = re.compile(r"(?:GPU|MIG)-[\w./-]+")


def find_gpus(source: DeviceSource | None = None, environment: Mapping[str, str] = os.environ) -> list[Device]:
    """The GPUs of this machine; of those, the ones that an inherited CUDA_VISIBLE_DEVICES leaves."""
    found = (source or NvmlSource()).devices()
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return found
    names = [name.strip() for name in visible.split(",") if name.strip()]
    chosen = [device for name in names for device in _called(name, found)]
    return list(dict.fromkeys(chosen))


def _called(name: str, found: Sequence[Device]) -> list[Device]:
    """The devices that CUDA means: by number, by UUID, or by the beginning of a UUID.

    The number or the UUID of a GPU that is divided stands for its first instance.
    """
    whole = [device for device in found if _means(name, device.name) or _means(name, device.uuid)]
    return whole or [device for device in found if any(_means(name, gpu) for gpu in device.part_of)][:1]


def _means(name: str, other: str) -> bool:
    is_uuid = _UUID.fullmatch(name) is not None
    return other.startswith(name) if is_uuid else other == name


def _by_their_names(tokens: Sequence[str], sizes: Mapping[str, int]) -> tuple[list[str], dict[str, int]]:
    """`--gpus GPU-8f2a`: whole GPUs by their numbers, which is what frameworks understand; instances by their UUIDs.

    Where there is no library to ask, a UUID stays as it is.
    """
    found = NvmlSource().devices() if any(_UUID.search(token) for token in tokens) else []
    if not found:
        return list(tokens), dict(sizes)

    def named(uuid: str) -> str:
        meant = _called(uuid, found)
        if len(meant) == 1:
            return meant[0].name
        there = ", ".join(f"{device.name} ({device.uuid})" for device in meant or found)
        what = "names several GPUs" if meant else "is none of the GPUs here"
        raise UsageError(f"--gpus {uuid} {what}: {there}.")

    by_name = [_UUID.sub(lambda match: named(match[0]), token) for token in tokens]
    return by_name, {named(gpu) if _UUID.fullmatch(gpu) else gpu: size for gpu, size in sizes.items()}


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
    machine = Machine(policy=policy, cpus=cores(), mem_mb=memory_mb())
    if gpus is None and slots is not None:
        return Offer(cpu_seats(slots), machine)
    tokens, sizes = _by_their_names(*split_sizes(gpus or ()))
    found = find_gpus() if gpus is None or "all" in gpus or by_memory or ask_sizes else []
    names = [device.name for device in found]
    if gpus is None:
        tokens = ["all"] if found else []
    if not tokens:
        return Offer(cpu_seats(cores()), machine)
    if by_memory:
        machine = machine._replace(policy=policy._replace(jobs_per_gpu=jobs_per_gpu))
        jobs_per_gpu = None
    seats = parse_gpus(tokens, jobs_per_gpu or 1, names)
    if slots is not None or with_cpu_slots:
        seats += cpu_seats(slots or cores(), first=sum(seat.is_cpu for seat in seats), side=with_cpu_slots)
    known = {device.name: device.memory_mb for device in found if device.memory_mb is not None}
    return Offer(seats, machine._replace(total_mb={**known, **sizes}))


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
