"""Where a job runs: which seats it gets, whether it gets any now, and whether it ever could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.inventory import WHOLE, Seat, has_room

Holds = tuple[tuple[str, int], ...]


def place(gpus: int | None, seats: Sequence[Seat], booked: Mapping[str, int]) -> Holds | None:
    """What a job that asks for so many GPUs gets to hold now, or None when it has to wait.

    None GPUs means one seat as it is: of the GPUs where there are any, else a CPU slot.
    """
    if gpus is None:
        wants_cpu = all(seat.is_cpu for seat in seats)
        for seat in seats:
            if seat.is_cpu == wants_cpu and has_room(seat, booked):
                return seat.holds
        return None
    if gpus == 0:
        return next((seat.holds for seat in seats if seat.is_cpu and has_room(seat, booked)), None)
    return _gather(gpus, seats, booked)


def _gather(gpus: int, seats: Sequence[Seat], booked: Mapping[str, int]) -> Holds | None:
    """Seats on different devices that add up to exactly so many GPUs; a job of several GPUs has them whole."""
    taken: dict[str, int] = {}
    for seat in seats:
        if seat.is_cpu or len(taken) + seat.gpu_count > gpus or any(device in taken for device in seat.devices):
            continue
        if gpus > seat.gpu_count:
            seat = Seat(tuple((device, WHOLE) for device in seat.devices))
        if has_room(seat, booked):
            taken.update(seat.holds)
        if len(taken) == gpus:
            return tuple(taken.items())
    return None


def refusal(gpus: int | None, seats: Sequence[Seat]) -> str | None:
    """Why these seats could never hold such a job, in words, or None when they could."""
    if place(gpus, seats, {}) is not None:
        return None
    cpu_slots = sum(seat.is_cpu for seat in seats)
    names = sorted({device for seat in seats if not seat.is_cpu for device in seat.devices})
    if gpus == 0:
        return f"It asks for no GPU, and there is no CPU slot beside the {len(names)} GPUs. Leave --gpus away."
    if not names:
        return f"It asks for {gpus} GPUs, and there is none here, only {cpu_slots} CPU slots. Leave --gpus away."
    sizes = sorted({seat.gpu_count for seat in seats if not seat.is_cpu})
    if max(sizes) > 1:
        groups = " ".join("+".join(seat.devices) for seat in seats if not seat.is_cpu)
        return f"It asks for {gpus} GPUs, and they are given out in these groups: {groups}."
    return f"It asks for {gpus} GPUs, and there are {len(names)}: {', '.join(names)}. Ask for at most {len(names)}."
