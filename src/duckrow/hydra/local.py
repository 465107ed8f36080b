"""Runs on one machine: in the daemon's queue, unless they want to divide devices in their own way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from duckrow.hydra.destinations import DaemonQueue, Destination, OwnRun
from duckrow.hydra.resources import Resources, share_of
from duckrow.hydra.wanted import LaunchOptions

if TYPE_CHECKING:
    from duckrow.api.client import Client

_VISIBLE = "CUDA_VISIBLE_DEVICES"
# Like clusterduck: wait for nobody, and fill slots in order. Of four slots on two GPUs, the first two are on the first.
_AS_CLUSTERDUCK = ("--share-gpus", "--fill")


def place_locally(wanted: LaunchOptions, folder: str, client: Client) -> tuple[Destination, Resources]:
    client.ensure_daemon()
    if wanted.divided.gpus is not None:
        return _over_named_gpus(wanted, folder, client)
    slots = wanted.parallel or len(client.seats())
    resources = Resources(folder, slots, wanted.divided.cores, wanted.divided.delay_s)
    if wanted.jobs_per_gpu is not None:
        return OwnRun(folder, [f"--jobs-per-gpu={wanted.jobs_per_gpu}"], wanted.options, wanted.max_failures), resources
    return DaemonQueue(wanted.parallel), resources


def ask_own_run(wanted: LaunchOptions, folder: str, client: Client) -> tuple[Destination, Resources]:
    """clusterduck's slots. If GPUs are not divided, each run sees the first gpus_per_node of them; by default none."""
    if wanted.divided.gpus is not None:
        return _over_named_gpus(wanted, folder, client, *_AS_CLUSTERDUCK)
    slots = wanted.parallel or 1
    resources = Resources(folder, slots, wanted.divided.cores, wanted.divided.delay_s)
    asked = wanted.others.get("gpus_per_node", 0)
    gpus = _gpus_named_by(asked, client) if asked else []
    seats = [f"--devices={'+'.join(gpus)}"] * slots if gpus else [f"--slots={slots}"]
    return OwnRun(folder, [*_AS_CLUSTERDUCK, *seats], wanted.options, wanted.max_failures), resources


def _over_named_gpus(wanted: LaunchOptions, folder: str, client: Client, *words: str) -> tuple[Destination, Resources]:
    gpus = wanted.divided.gpus or _gpus_here(client)[: wanted.others.get("gpus_per_node")]
    slots = wanted.parallel or max(len(gpus), 1) * (wanted.jobs_per_gpu or 1)
    resources = Resources(folder, slots, wanted.divided.cores, wanted.divided.delay_s)
    return OwnRun(folder, [*words, *seats_of(gpus, slots)], wanted.options, wanted.max_failures), resources


def seats_of(gpus: list[str], slots: int) -> list[str]:
    """Options of `duckrow run`: 2 slots on 4 GPUs have two GPUs each; of 4 slots on 2 GPUs, two share each GPU."""
    if not gpus:
        return [f"--slots={slots}"]
    return [f"--devices={'+'.join(share_of(gpus, slot, slots))}" for slot in range(slots)]


def _gpus_named_by(number: int, client: Client) -> list[str]:
    """The first `number` GPUs. If none are known: 0, 1 and so on, as in clusterduck."""
    if _VISIBLE in os.environ:
        return _gpus_here(client)[:number]
    return (_gpus_here(client) or [str(gpu) for gpu in range(number)])[:number]


def _gpus_here(client: Client) -> list[str]:
    """As CUDA_VISIBLE_DEVICES names them, else all that the daemon has found."""
    if _VISIBLE in os.environ:
        return [name.strip() for name in os.environ[_VISIBLE].split(",") if name.strip()]
    client.ensure_daemon()
    return list(dict.fromkeys(device for seat in client.seats() for device in seat.devices if not seat.is_cpu))
