"""What is known about a host's GPUs besides their readings: names, sizes and models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from duckrow.core.devices.device_names import called, plain_name
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.memory.prediction import gpus_of
from duckrow.core.ports import Gpu

_NONE: list[str] = []


class KnownGpus:
    def __init__(self, seats: Sequence[Seat], machine: Machine) -> None:
        self.machine = machine  # as it is when nobody uses it
        self.devices: dict[str, Gpu] = {}  # as the library describes them; empty until it has been asked
        self.has_library = True  # else the devices are static: all we know is what the user said
        self._seats = seats
        self._work_out()

    def _work_out(self) -> None:
        """What follows from the seats and the machine. Every tick asks, so it is worked out when they change."""
        devices = (device for seat in self._seats if not seat.is_cpu for device in seat.devices)
        self._in_seats: list[str] = list(dict.fromkeys(devices))
        self.given_out = gpus_of(self._seats, self.machine)  # the sizes and models of our GPUs

    @property
    def watched(self) -> list[str]:
        """The GPUs that we schedule on and can read."""
        return self._in_seats if self.has_library else _NONE

    @property
    def are_met(self) -> bool:
        """Whether all is known about them that ever will be: the library has listed them, or there are none to list."""
        return bool(self.devices) or not self.watched

    def seat(self, seats: Sequence[Seat]) -> None:
        """These are the seats now."""
        self._seats = seats
        self._work_out()

    def meet(self, devices: Sequence[Gpu]) -> None:
        """The library has listed the GPUs."""
        self.devices = {device.name: device for device in devices}
        known = {device.name: device.memory_mb for device in devices if device.memory_mb is not None}
        models = {device.name: device.model for device in devices}
        self.machine = self.machine._replace(total_mb={**known, **self.machine.total_mb}, models=models)
        self._work_out()

    def miss_library(self, is_missing: bool) -> None:
        self.has_library = not is_missing

    def name_of(self, written: str) -> str:
        """Our name for a GPU that a person may have named by the start of its UUID."""
        meant = called(written, self.devices.values())
        return meant[0].name if len(meant) == 1 else plain_name(written)

    def model(self, gpu: str) -> str:
        device = self.devices.get(gpu)
        return device.model if device else ""

    def smallest_mb(self, gpus: Iterable[str]) -> int | None:
        return min((self.machine.total_mb[gpu] for gpu in gpus if gpu in self.machine.total_mb), default=None)
