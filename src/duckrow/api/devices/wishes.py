"""Wishes about the daemon's GPUs: add, drain, remove."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from duckrow.api.devices.device_jobs import devices_with_jobs
from duckrow.api.devices.gpus import GpuView
from duckrow.core.devices.device_names import any_uuid, called, plain_name
from duckrow.core.errors import UsageError
from duckrow.core.life.wishes import DeviceWish
from duckrow.core.ports import Gpu
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.hosts import DAEMON, seats_from
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client


def wish_of_devices(client: Client, devices: Sequence[str], wish: DeviceWish) -> list[str]:
    """For all devices, or for none if the daemon lacks one of them; returns what will happen, in words."""
    if wish in (DeviceWish.DRAIN, DeviceWish.REMOVE):
        client.find_seats()
        for device in devices:
            _checked(client, device, wish)
    said = [_wish_of_device(client, device, wish) for device in devices]
    client.settle()
    return said


def _wish_of_device(client: Client, device: str, wish: DeviceWish) -> str:
    """`add`, `drain`, `remove`, `undrain`; returns what will happen, in words."""
    if wish in (DeviceWish.ADD, DeviceWish.UNDRAIN) and _give_out_again(client, device) and client.daemon() is None:
        return f"GPU {device} is available to jobs again."
    client.find_seats()
    device, offered = _checked(client, device, wish)
    is_given_out = wish == DeviceWish.UNDRAIN or (wish == DeviceWish.ADD and device in offered)
    ControlStore(client.database).wish_of_device(device, None if is_given_out else wish)
    client.ring_all()
    busy = any(device == each["device"] and each["jobs"] for each in devices_with_jobs(client))
    if wish == DeviceWish.ADD:
        return f"GPU {device} is available to jobs."
    if wish == DeviceWish.UNDRAIN:
        return f"GPU {device} is available to jobs again."
    what = (
        "it gets no new job"
        if wish == DeviceWish.DRAIN
        else "it is removed when its last job has ended"
        if busy
        else "it is removed"
    )
    return f"GPU {device}: {what}."


def _checked(client: Client, written: str, wish: DeviceWish) -> tuple[str, AbstractSet[str]]:
    """(the name of this GPU, those that the daemon offers)."""
    offered = {name for seat in client.seats() for name in seat.devices if name.is_gpu}
    device = _gpu_meant(client, written, offered)
    if device not in offered and wish != DeviceWish.ADD:
        raise UsageError(f"The daemon has no GPU {device}. It has: {', '.join(sorted(offered)) or 'none'}.")
    return device, offered


def _give_out_again(client: Client, device: str) -> bool:
    """Use a GPU again that was set aside; whether it was."""
    living = client.living_hosts()
    offered = {name for host in living for seat in seats_from(host.seats) for name in seat.devices}
    hosts = {DAEMON, *(host.id for host in living)}  # the next daemon would set it aside again
    was_aside = SetAsideStore(client.database).want_back(hosts, _gpu_meant(client, device, offered))
    if was_aside:
        client.ring_all()
    return was_aside


def _gpu_meant(client: Client, written: str, offered: AbstractSet[str]) -> str:
    """The daemon's name for a GPU that may be given by the beginning of its UUID."""
    name = plain_name(written)
    if name in offered or not any_uuid([name]):
        return name
    shown = GpuView(client).devices()
    meant = called(name, [Gpu(each["device"], "", each.get("uuid") or "", None) for each in shown])
    if len(meant) > 1:
        names = ", ".join(device.name for device in meant)
        raise UsageError(f"GPUs {names} begin with {written}: write more of the UUID.")
    return meant[0].name if meant else name
