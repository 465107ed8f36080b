"""What is known about a host's GPUs besides their readings: names, sizes and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from duckrow.core.devices.device_names import called, plain_name
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.memory.prediction import HostGpus, gpus_of
from duckrow.core.ports import Gpu
from duckrow.scheduler.state import HostState


class KnownGpus:
    def __init__(self, state: HostState, machine: Machine, tell: Callable[[Machine], None]) -> None:
        """`tell`: called with what the library says about the machine, for others to read."""
        self._state = state
        self._tell = tell
        self.machine = machine  # as it is when nobody uses it
        self.devices: dict[str, Gpu] = {}  # as the library describes them; empty until it has been asked
        self.no_library = False  # static devices: all we know is what the user said
        self._watched: tuple[Sequence[Seat] | None, list[str]] = (None, [])  # the seats, and the GPUs in them
        self._given_out: tuple[Sequence[Seat] | None, Machine | None, HostGpus] = (None, None, HostGpus())

    @property
    def watched(self) -> list[str]:
        """The GPUs that we schedule on and can read."""
        if self.no_library:
            return []
        if self._watched[0] is not self._state.seats:
            devices = (device for seat in self._state.seats if not seat.is_cpu for device in seat.devices)
            self._watched = (self._state.seats, list(dict.fromkeys(devices)))
        return self._watched[1]

    @property
    def given_out(self) -> HostGpus:
        """The sizes and models of our GPUs. Seats and machine are replaced, never changed in place."""
        seats, machine, found = self._given_out
        if seats is not self._state.seats or machine is not self.machine:
            found = gpus_of(self._state.seats, self.machine)
            self._given_out = (self._state.seats, self.machine, found)
        return found

    def meet(self, devices: Sequence[Gpu]) -> None:
        """The library has listed the GPUs. Called in the tick's transaction."""
        self.devices = {device.name: device for device in devices}
        known = {device.name: device.memory_mb for device in devices if device.memory_mb is not None}
        models = {device.name: device.model for device in devices}
        self.machine = self.machine._replace(total_mb={**known, **self.machine.total_mb}, models=models)
        self._tell(self.machine)

    def name_of(self, written: str) -> str:
        """Our name for a GPU that a person may have named by the start of its UUID."""
        meant = called(written, self.devices.values())
        return meant[0].name if len(meant) == 1 else plain_name(written)

    def model(self, gpu: str) -> str:
        device = self.devices.get(gpu)
        return device.model if device else ""

    def lock_name(self, gpu: str) -> str:
        """The name that every duckrow on this machine uses for it."""
        device = self.devices.get(gpu)
        return (device.uuid if device else "") or f"{os.uname().nodename}-{gpu}"

    # -- sizes ------------------------------------------------------------------------------------------------

    def smallest_mb(self, gpus: Iterable[str]) -> int | None:
        return min((self.machine.total_mb[gpu] for gpu in gpus if gpu in self.machine.total_mb), default=None)
