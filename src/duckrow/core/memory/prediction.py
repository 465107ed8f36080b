"""What a job asks for, filled in with what similar jobs have used: for the scheduler, `why` and previews alike."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, Needs, ask_of, needs_from, with_margin
from duckrow.core.memory.knowledge import Basis, Expected, Knowledge
from duckrow.core.named_tuple import NamedTuple

_ALMOST_ALL = 0.85
"""Of a GPU: a job that uses more leaves no room for another, so it may as well have all of it."""


class HostGpus(NamedTuple):
    """The GPUs of a host, as far as they decide what its jobs will use."""

    models: frozenset[str] = frozenset({""})  # an empty one if none is known
    sizes_mb: tuple[int, ...] = ()  # the largest first

    def largest_mb(self, count: int = 1) -> int | None:
        """There are `count` GPUs of this size or larger."""
        return self.sizes_mb[count - 1] if 0 < count <= len(self.sizes_mb) else None

    def all_mb(self) -> int | None:
        """What all GPUs hold together, if each takes an equal part."""
        return self.sizes_mb[-1] * len(self.sizes_mb) if self.sizes_mb else None


def gpus_of(seats: Iterable[Seat], machine: Machine) -> HostGpus:
    gpus = {device for seat in seats if not seat.is_cpu for device in seat.devices}
    models = frozenset(machine.models.get(gpu, "") for gpu in gpus)
    sizes = sorted((machine.total_mb[gpu] for gpu in gpus if gpu in machine.total_mb), reverse=True)
    return HostGpus(models or frozenset({""}), tuple(sizes))


def predicted_ask(gpus: int | None, needs: str | None, known: Knowledge, here: HostGpus) -> Ask:
    """What a job asks for on the GPUs of its host. `needs`: as stored."""
    wanted = needs_from(needs)
    expected = expected_of(wanted, known, here) if wanted.recipe or wanted.auto else None
    if expected is not None and _needs_less_than_it_asks_for(wanted, expected, known, here):
        return ask_of(gpus, needs)._replace(mb=reserved_for(expected))
    was_wrong = wanted.ooms > 0 and not wanted.auto  # what its user has said is not enough
    if expected is not None and wanted.gpu_mem_mb is not None and expected.basis is not Basis.SAME and not was_wrong:
        expected = None  # it asks for an amount itself, and nothing predicts it better
    reserved = None if expected is None else reserved_for(expected)
    ask = ask_of(gpus, needs, reserved, unknown=expected is None)
    if reserved is not None and not leaves_room(reserved, here.largest_mb(gpus or 1)):
        return ask._replace(mb=wanted.gpu_mem_mb, alone=True)  # it gets a GPU to itself
    return ask


def _needs_less_than_it_asks_for(wanted: Needs, expected: Expected, known: Knowledge, here: HostGpus) -> bool:
    """Of a job that ran out of memory and asks for the most of any run, or for a guess: whether others tell better.

    They tell too little if they say less than it had or wanted when it ran out, or if none has ended that took as much.
    """
    asks_for_most = wanted.auto and wanted.ran_out_mb > 0 and wanted.gpu_mem_mb is not None and not wanted.alone
    if not asks_for_most or expected.mb is None or expected.basis is Basis.SET:
        return False
    is_told = expected.basis in (Basis.BETWEEN, Basis.BEYOND) or any(
        wanted.ran_out_mb <= known.runs_of(wanted.recipe, model).largest_mb for model in here.models
    )
    return is_told and wanted.ran_out_mb <= expected.mb and with_margin(expected.mb) < (wanted.gpu_mem_mb or 0)


def expected_of(needs: Needs, known: Knowledge, here: HostGpus) -> Expected | None:
    """What a job uses on the GPU model here where it uses most; None: nothing is known about its recipe."""
    found = [known.expected(needs.recipe, model, needs.parameters, needs.deciding) for model in sorted(here.models)]
    told = [expected for expected in found if expected is not None]
    return max(told, key=lambda each: (each.mb is None, each.mb or each.at_least_mb), default=None)


def reserved_for(expected: Expected) -> int | None:
    """None: nobody knows how much it uses."""
    return None if expected.mb is None else with_margin(expected.mb, expected.basis is Basis.SAME)


def leaves_room(mb: int, largest_mb: int | None) -> bool:
    """Whether another job could run beside one that uses this much. If the size is unknown, yes."""
    return largest_mb is None or mb <= largest_mb * _ALMOST_ALL
