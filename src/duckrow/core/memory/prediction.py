"""What a job asks for, with what jobs of its recipe have taken put in: for the scheduler, `why` and previews alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, ask_of, needs_from, with_margin

_ALMOST_ALL = 0.85
"""Of a GPU: beside a job that takes more there is no room for another, so it may as well have all of it."""

Peaks = Mapping[tuple[str, str], int]
"""(recipe, model of GPU) -> the most MB that a job has taken."""


class HostGpus(NamedTuple):
    """The GPUs that a host gives out, as far as they decide what its jobs will take."""

    models: frozenset[str] = frozenset({""})  # an empty one where none is told
    sizes_mb: tuple[int, ...] = ()  # the largest first

    def largest_mb(self, count: int = 1) -> int | None:
        """There are `count` GPUs of this size or above."""
        return self.sizes_mb[count - 1] if 0 < count <= len(self.sizes_mb) else None

    def all_mb(self) -> int | None:
        """What all GPUs have together, if each has an even part of it."""
        return self.sizes_mb[-1] * len(self.sizes_mb) if self.sizes_mb else None


def gpus_of(seats: Iterable[Seat], machine: Machine) -> HostGpus:
    gpus = {device for seat in seats if not seat.is_cpu for device in seat.devices}
    models = frozenset(machine.models.get(gpu, "") for gpu in gpus)
    sizes = sorted((machine.total_mb[gpu] for gpu in gpus if gpu in machine.total_mb), reverse=True)
    return HostGpus(models or frozenset({""}), tuple(sizes))


def predicted_ask(gpus: int | None, needs: str | None, peaks: Peaks, here: HostGpus) -> Ask:
    """What a job asks for on the GPUs of its host. `needs`: as the store keeps them."""
    wanted = needs_from(needs)
    peak_mb = _peak_of(wanted.recipe, peaks, here) if wanted.auto else None
    reserved = None if peak_mb is None else with_margin(peak_mb)
    if reserved is not None and not leaves_room(reserved, here.largest_mb(gpus or 1)):
        reserved = None  # it gets a GPU to itself
    return ask_of(gpus, needs, reserved)


def leaves_room(mb: int, largest_mb: int | None) -> bool:
    """Whether another job could run beside one that takes this much. A size that nobody knows refuses nothing."""
    return largest_mb is None or mb <= largest_mb * _ALMOST_ALL


def _peak_of(recipe: str, peaks: Peaks, here: HostGpus) -> int | None:
    """The most that it has taken on any of the models that are here."""
    found = (peaks.get((recipe, model)) for model in here.models)
    return max((peak for peak in found if peak is not None), default=None)
