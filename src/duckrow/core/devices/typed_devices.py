"""What a person typed about GPUs, compared with those there are: a sentence for what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.devices.inventory import Seat, as_ranges, gpus_in
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.policy import KNOBS
from duckrow.core.units import format_mb

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_FOR_EXAMPLE = "24G"


def preferred_elsewhere(seats: Sequence[Seat], machine: Machine) -> str | None:
    """Which preferred GPUs are not among those to use."""
    gpus = gpus_in(seats)
    elsewhere = [name for name in machine.policy.prefer if name not in gpus]
    if not elsewhere:
        return None
    if not gpus:
        return f"--prefer {','.join(elsewhere)}: there is no GPU here. Omit it, or name GPUs: --devices 0,1."
    return f"--prefer {','.join(elsewhere)}: not among the GPUs to use, which are {as_ranges(gpus)}."


def without_meaning(knobs: Mapping[str, Any], jobs_per_gpu: int | None, packs: bool) -> str | None:
    """Which typed options change nothing where there is no GPU. `knobs`: by option; None: not typed."""
    typed = [knob.flag for knob in KNOBS.values() if knob.option != "share_gpus" and knobs[knob.option] is not None]
    typed += ["--jobs-per-gpu"] if jobs_per_gpu is not None else []
    typed += ["--pack"] if packs else []
    if not typed:
        return None
    return f"there is no GPU here, so {' and '.join(typed)} {'changes' if len(typed) == 1 else 'change'} nothing."


def missing_gpus(gpus: Sequence[str], machine: Machine) -> str | None:
    """Which of these GPUs the driver does not list, though it lists others."""
    missing, known = machine.missing(gpus), list(machine.models)
    if not missing:
        return None
    return (
        f"the driver lists no GPU {as_ranges(missing)}, only {'GPU' if len(known) == 1 else 'GPUs'} {as_ranges(known)}"
    )


def left_out_by_size(seats: Sequence[Seat], machine: Machine, chosen_by: str = "") -> str | None:
    """Which GPUs get no job that asks for memory, because their own is unknown, while others' is known."""
    gpus = gpus_in(seats)
    if machine.total_mb.keys().isdisjoint(gpus) or machine.total_mb.keys() >= set(gpus):
        return None
    return unknown_size(gpus, machine.total_mb, chosen_by)


def unknown_size(gpus: Sequence[str], sizes_mb: Mapping[str, int], chosen_by: str = "") -> str:
    """`chosen_by`: the command whose `--devices` these are; empty for the one that was typed."""
    unknown = [name for name in gpus if name not in sizes_mb]
    known = {name: format_mb(sizes_mb[name]) for name in gpus if name in sizes_mb}
    written = ",".join(f"{name}:{known.get(name, _FOR_EXAMPLE)}" for name in gpus)
    what, its = ("GPUs", "their sizes") if len(unknown) > 1 else ("GPU", "its size")
    return f"The memory of {what} {as_ranges(unknown)} is unknown. Give {its}: {chosen_by}--devices {written}."
