"""A device that jobs get, and what a job has reserved of it. The only module that knows how a device is written.

In the database, in JSON, in batch folders and in the environment of jobs a device is its name: `0` is a GPU,
`GPU-8f2a...` one that is known by its UUID, `MIG-1c3d...` an instance of a divided GPU, `cpu3` a CPU slot.
`Device(name)` reads it, and a `Device` is written as it is (docs/decisions/0018-devices.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.named_tuple import NamedTuple

_CPU_SLOT, _MIG = "cpu", "MIG-"

GPU_UUID = r"(?:GPU|MIG)-[\w./-]+"
GPU_NAME = rf"(?:[0-9]+|{GPU_UUID})"
"""Regular expressions: how a person or a driver writes one GPU."""

CPU_SLOTS_IN_SQL = f"{_CPU_SLOT}%"
"""For LIKE: the names of all CPU slots, and of nothing else."""


class Device(str):
    """A device's name. Ask it what it is: `device.is_gpu`."""

    __slots__ = ()
    is_gpu = True  # an instance of a divided GPU is one, too
    is_mig_instance = False
    is_cpu_slot = False

    def __new__(cls, name: str) -> Device:
        kind = _CpuSlot if name.startswith(_CPU_SLOT) else _MigInstance if name.startswith(_MIG) else Device
        return super().__new__(kind, name)

    @property
    def gpu_number(self) -> int | None:
        """None: it is known by its UUID, or is not a GPU."""
        return int(self) if self.isascii() and self.isdecimal() else None


class _CpuSlot(Device):
    __slots__ = ()
    is_gpu = False
    is_cpu_slot = True


class _MigInstance(Device):
    __slots__ = ()
    is_mig_instance = True


def cpu_slot(number: int) -> Device:
    return Device(f"{_CPU_SLOT}{number}")


SOME_CPU_SLOT = Device(_CPU_SLOT)
"""A CPU slot whose number nobody knows: that of a run on another machine."""


def describe_devices(devices: Iterable[Device]) -> str:
    """For people: `GPU 0,1` or `CPU 3`."""
    names = list(devices)
    if names and names[0].is_cpu_slot:
        return f"CPU {names[0][len(_CPU_SLOT) :]}"
    return "GPU " + ",".join(names)


class Reservation(NamedTuple):
    """What an attempt holds, or a seat offers, of a device."""

    device: Device
    share: int  # in millionths


Reservations = tuple[Reservation, ...]


def reservations(pairs: Iterable[tuple[str, int]]) -> Reservations:
    """As the database and JSON have them: (name, share)."""
    return tuple(Reservation(Device(name), share) for name, share in pairs)


def gpus_among(holds: Iterable[Reservation]) -> list[Device]:
    return [device for device, _ in holds if device.is_gpu]


def only_gpus(holds: Reservations) -> Reservations:
    """All hosts share the GPUs. CPU slots belong to one host, though their names are the same on every host."""
    return tuple(hold for hold in holds if hold.device.is_gpu)
