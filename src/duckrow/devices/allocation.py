"""What a cluster job was really given of its node: GPUs and cores."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from itertools import pairwise

from duckrow.core.devices.device import reservations
from duckrow.core.devices.device_names import plain_name
from duckrow.core.devices.inventory import WHOLE, Seat, cpu_seats, looks_like_devices
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import Policy
from duckrow.core.ports import Allocation
from duckrow.devices.discover import Offer, cores, find_gpus, memory_mb


def allocated_offer(
    parallel_runs: int | None,
    by_memory: bool,
    asked: Collection[int | None],
    allocation: Allocation,
    environment: Mapping[str, str] = os.environ,
) -> Offer:
    """The seats of a pilot. Without GPUs: a CPU slot for each run that is wanted at a time, or for each core.

    `by_memory`: runs share GPUs by memory. `asked`: how many GPUs the runs ask for; those that ask for none run beside
    the others. `allocation`: as the batch system reports it.
    """
    gpus_per_run = next(iter(asked)) if len(asked) == 1 else None
    gpus = given_gpus(allocation, environment)
    by_bus = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}  # as SLURM numbers them
    found = find_gpus(environment={"CUDA_VISIBLE_DEVICES": ",".join(gpus), **by_bus}) if gpus else []
    sizes = {device.name: device.memory_mb for device in found}
    gpus = list(sizes) or gpus
    # Its GPUs were allocated to it: if others are there, the cluster has let them in.
    policy = Policy(share=True)
    machine = Machine(policy=policy, cpus=given_cores(allocation), mem_mb=allocation.memory_mb or memory_mb())
    if not gpus or gpus_per_run == 0:
        return Offer(cpu_seats(parallel_runs or machine.cpus or 1), machine)
    beside = cpu_seats(parallel_runs or machine.cpus or 1, side=True) if 0 in asked else []
    known = {name: memory for name in gpus if (memory := sizes.get(name)) is not None}
    if by_memory:
        most = None if parallel_runs is None else math.ceil(parallel_runs / len(gpus))
        machine = machine._replace(policy=policy.but(jobs_per_gpu=most), total_mb=known)
        return Offer([*(Seat(reservations([(gpu, WHOLE)])) for gpu in gpus), *beside], machine)
    return Offer([*gpu_seats(gpus, parallel_runs, gpus_per_run), *beside], machine._replace(total_mb=known))


def gpu_seats(gpus: list[str], parallel_runs: int | None, gpus_per_run: int | None) -> list[Seat]:
    """One run per GPU; or, for `parallel_runs` at a time, groups of GPUs or shares of one. Seats need not be equal."""
    places = parallel_runs or len(gpus)
    if gpus_per_run is not None or places == len(gpus):
        shares = max(math.ceil(places * (gpus_per_run or 1) / len(gpus)), 1)
        return [Seat(reservations([(gpu, WHOLE // shares)])) for gpu in gpus for _ in range(shares)]
    if places < len(gpus):
        borders = [round(place * len(gpus) / places) for place in range(places + 1)]
        groups = [gpus[first:last] for first, last in pairwise(borders)]
        return [Seat(reservations((gpu, WHOLE) for gpu in group)) for group in groups]
    of_place = [gpus[place * len(gpus) // places] for place in range(places)]
    return [Seat(reservations([(gpu, WHOLE // of_place.count(gpu))])) for gpu in of_place]


def given_gpus(allocation: Allocation, environment: Mapping[str, str] = os.environ) -> list[str]:
    """As CUDA names them; none if the job did not ask for any, whatever the node has."""
    visible = environment.get("CUDA_VISIBLE_DEVICES", allocation.gpus)
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return [plain_name(name) for name in names] if all(looks_like_devices(name) for name in names) else []  # NoDevFiles


def given_cores(allocation: Allocation) -> int:
    """What the batch system says, or the cores that we are bound to, whichever is less."""
    return min(allocation.cores, cores()) if allocation.cores else cores()
