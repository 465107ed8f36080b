"""Which devices a host gets if nobody names any."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from duckrow.core.devices.device import Device
from duckrow.core.devices.device_names import any_uuid, called, name_of, with_names, written_names
from duckrow.core.devices.inventory import Seat, cpu_seats, parse_gpus, refuse_no_device, split_sizes
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import NO_POLICY, Policy
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import DeviceSource, Gpu
from duckrow.devices import cuda_order
from duckrow.devices.cuda_order import as_cuda_numbers
from duckrow.devices.nvml import NvmlSource

VISIBLE = "CUDA_VISIBLE_DEVICES"


def find_gpus(source: DeviceSource | None = None, environment: Mapping[str, str] = os.environ) -> list[Gpu]:
    """The GPUs of this machine, limited to those in an inherited CUDA_VISIBLE_DEVICES."""
    return _visible((source or NvmlSource()).devices(), environment, [])


def _visible(found: list[Gpu], environment: Mapping[str, str], notes: list[str]) -> list[Gpu]:
    visible = environment.get(VISIBLE)
    if visible is None:
        return found
    names = [name.strip() for name in visible.split(",") if name.strip()]
    by_number = any(Device(name).gpu_number is not None for name in names)
    numbered = as_cuda_numbers(found, environment) if by_number else found
    if numbered is None:
        notes.append(cuda_order.not_told(visible))
        numbered = found
    chosen = [device for name in names for device in _meant(name, numbered, found)]
    return list(dict.fromkeys(chosen))


def _meant(name: str, numbered: list[Gpu], found: list[Gpu]) -> list[Gpu]:
    """`numbered`: as CUDA counts them."""
    number = Device(name).gpu_number
    if number is not None and numbered is not found:
        return numbered[number : number + 1]
    return called(name, found)


def cores() -> int:
    """The cores that we may use, not all that exist."""
    return len(os.sched_getaffinity(0))


def source() -> DeviceSource:
    """Where to ask about the GPUs of this machine."""
    return NvmlSource()


class Offer(NamedTuple):
    """What a host may give out."""

    seats: list[Seat]
    machine: Machine
    is_limited: bool = False  # to the GPUs in the user's CUDA_VISIBLE_DEVICES
    notes: tuple[str, ...] = ()  # what else the user should know about it, in sentences
    written: Mapping[str, str] = {}  # named GPU -> how the user wrote it
    is_unseen: bool = False  # jobs ask for memory, and no driver tells what is used of these GPUs


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
    """The devices that the user names; otherwise all GPUs; otherwise one CPU slot per core.

    `with_cpu_slots`: add slots beside GPUs for jobs that need none. `by_memory`: jobs will ask for memory, so the sizes
    must be known, and `jobs_per_gpu` is the most that may share a GPU. `ask_sizes`: find out the sizes even though
    `jobs_per_gpu` makes slots.
    """
    refuse_no_device(gpus or ())
    tokens, sizes = split_sizes(gpus or ())
    look = slots is None if gpus is None else "all" in gpus or by_memory or ask_sizes
    wants_order = os.environ.get(cuda_order.VARIABLE, cuda_order.BY_BUS) != cuda_order.BY_BUS
    there = NvmlSource().devices() if look or wants_order or any_uuid([*tokens, *policy.prefer]) else []
    written = {name: word for token in tokens for name, word in written_names(token, there).items()}
    tokens = [with_names(token, there) for token in tokens]
    policy = policy.but(prefer=tuple(name_of(written, there) for written in policy.prefer))
    machine = Machine(policy=policy, cpus=cores(), mem_mb=memory_mb())
    if gpus is None and slots is not None:
        return Offer(cpu_seats(slots), machine)
    notes = [*filter(None, [cuda_order.overridden(there, os.environ)])]
    found = there if look else []
    finds = gpus is None or "all" in gpus
    if finds:
        found = _visible(found, os.environ, notes)
    if gpus is None:
        tokens = ["all"] if found else []
    if not tokens:
        return Offer(cpu_seats(cores()), machine)
    if by_memory:
        machine = machine._replace(policy=policy.but(jobs_per_gpu=jobs_per_gpu))
        jobs_per_gpu = None
    seats = parse_gpus(tokens, jobs_per_gpu or 1, [device.name for device in found])
    if slots is not None or with_cpu_slots:
        seats += cpu_seats(slots or cores(), first=sum(seat.is_cpu for seat in seats), side=with_cpu_slots)
    known = {device.name: device.memory_mb for device in found if device.memory_mb is not None}
    machine = machine._replace(total_mb={**known, **_by_name(sizes, there)})
    offered = {device for seat in seats if not seat.is_cpu for device in seat.devices}
    is_unseen = by_memory and offered.isdisjoint(device.name for device in there)
    return Offer(seats, machine, finds and VISIBLE in os.environ, tuple(notes), written, is_unseen)


def _by_name(sizes: Mapping[str, int], there: Sequence[Gpu]) -> dict[str, int]:
    """The sizes that a person gave, by GPU. A GPU may be written in two ways."""
    named: dict[str, int] = {}
    for written, size in sizes.items():
        name = name_of(written, there)
        if named.setdefault(name, size) != size:
            raise UsageError(f"GPU {name} was given two sizes. Name it once, as in {name}:24G.")
    return named


def memory_mb() -> int | None:
    """The memory of the machine, or of the part that a container may use."""
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
