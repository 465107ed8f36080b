"""Where a job runs: which seats it gets, whether it gets any now, and whether it ever could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.inventory import WHOLE, Seat, has_room, load
from duckrow.core.units import plural

Holds = tuple[tuple[str, int], ...]


def place(gpus: int | None, seats: Sequence[Seat], booked: Mapping[str, int]) -> Holds | None:
    """What a job that asks for so many GPUs gets to hold now, or None when it has to wait.

    None GPUs means one seat as it is. Of several free seats it is the one whose devices have least to do, so that
    jobs spread over the GPUs before they share one.
    """
    if gpus is None:
        return _least_loaded([seat for seat in seats if not seat.side], booked)
    if gpus == 0:
        return _least_loaded([seat for seat in seats if seat.is_cpu], booked)
    exact = [seat for seat in seats if seat.gpu_count == gpus]
    return _least_loaded(exact, booked) or _gather(gpus, seats, booked)


def _least_loaded(seats: Sequence[Seat], booked: Mapping[str, int]) -> Holds | None:
    best: Seat | None = None
    best_load = 0.0
    for seat in seats:
        if not has_room(seat, booked):
            continue
        load_now = load(seat, booked)
        if load_now == 0:
            return seat.holds
        if best is None or load_now < best_load:
            best, best_load = seat, load_now
    return None if best is None else best.holds


def _gather(gpus: int, seats: Sequence[Seat], booked: Mapping[str, int]) -> Holds | None:
    """Seats on different devices that add up to exactly so many GPUs, whole ones; the largest are tried first."""
    taken: dict[str, int] = {}
    for seat in sorted((seat for seat in seats if not seat.is_cpu), key=lambda seat: -seat.gpu_count):
        if len(taken) + seat.gpu_count > gpus or any(device in taken for device in seat.devices):
            continue
        whole = Seat(tuple((device, WHOLE) for device in seat.devices))
        if has_room(whole, booked):
            taken.update(whole.holds)
        if len(taken) == gpus:
            return tuple(taken.items())
    return None


def refusal(gpus: int | None, seats: Sequence[Seat]) -> str | None:
    """Why these seats could never hold such a job, in words, or None when they could."""
    if place(gpus, seats, {}) is not None:
        return None
    if gpus is None:
        return "No device is left to give out."
    cpu_slots = sum(seat.is_cpu for seat in seats)
    names = sorted({device for seat in seats if not seat.is_cpu for device in seat.devices})
    asked = plural(gpus or 0, "GPU")
    if gpus == 0:
        return (
            f"It asks for no GPU, and there is no CPU slot beside the {plural(len(names), 'GPU')}. Leave --gpus away."
        )
    if not names:
        return f"It asks for {asked}, and there is none here, only {plural(cpu_slots, 'CPU slot')}. Leave --gpus away."
    sizes = sorted({seat.gpu_count for seat in seats if not seat.is_cpu})
    if max(sizes) > 1:
        groups = " ".join("+".join(seat.devices) for seat in seats if not seat.is_cpu)
        return f"It asks for {asked}, and they are given out in these groups: {groups}."
    there = f"there {'is' if len(names) == 1 else 'are'} {len(names)}: {', '.join(names)}"
    return f"It asks for {asked}, and {there}. Ask for at most {len(names)}."
