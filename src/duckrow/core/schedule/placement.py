"""Where a job runs: which seats it gets, whether it gets any now, and whether it ever could."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duckrow.core.devices.device import Device, Reservation, Reservations
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, gpus_in, has_room, load
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.policy import Policy
from duckrow.core.errors import as_option
from duckrow.core.units import format_mb, plural


def place(ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine = BARE) -> Reservations | None:
    """What a job that asks for this gets now, or None if it must wait.

    Without a number of GPUs, it gets one seat. If several are free, it gets the one whose devices have least to do, so
    that jobs spread over the GPUs before they share one. The policy can also fill one GPU after the other.
    """
    if ask.gpus == 0:
        return _least_loaded([seat for seat in seats if seat.is_cpu], seats, booked, machine)
    if ask.mb is not None or ask.total_mb is not None or ask.alone or ask.larger_than_mb:
        return _by_memory(ask, seats, booked, machine)
    if ask.gpus is None:
        return _least_loaded([seat for seat in seats if not seat.side], seats, booked, machine)
    exact = [seat for seat in seats if seat.gpu_count == ask.gpus]
    return _least_loaded(exact, seats, booked, machine) or _gather(ask.gpus, seats, booked, machine)


def _least_loaded(
    choice: Sequence[Seat], seats: Sequence[Seat], booked: Ledger, machine: Machine
) -> Reservations | None:
    best: Seat | None = None
    best_load = 0.0
    for seat in _preferred(choice, machine):
        if not has_room(seat, booked) or not _polite(seat.devices, seats, booked, machine):
            continue
        if best is not None and _is_crowded(seat, machine) and not _is_crowded(best, machine):
            break
        load_now = load(seat, booked)
        if load_now == 0 or machine.policy.fill:
            return seat.holds
        if best is None or load_now < best_load:
            best, best_load = seat, load_now
    return None if best is None else best.holds


def _polite(devices: Sequence[str], seats: Sequence[Seat], booked: Ledger, machine: Machine) -> bool:
    return not machine.has_rules or machine.may_use(devices, gpus_in(seats), booked, whole=True)


def _preferred(choice: Sequence[Seat], machine: Machine) -> Sequence[Seat]:
    """The seats in the order in which we try them: first those where nobody else is."""
    if not machine.policy.prefer and not machine.neighbours:
        return choice
    rank = {device: number for number, device in enumerate(machine.policy.prefer)}

    def turn(seat: Seat) -> tuple[bool, int]:
        return _is_crowded(seat, machine), min(rank.get(device, len(rank)) for device in seat.devices)

    return sorted(choice, key=turn)


def _is_crowded(seat: Seat, machine: Machine) -> bool:
    return bool(machine.neighbours) and any(machine.neighbours.get(device) for device in seat.devices)


def _gather(gpus: int, seats: Sequence[Seat], booked: Ledger, machine: Machine) -> Reservations | None:
    """Seats on different devices that add up to exactly `gpus` whole GPUs; the largest are tried first."""
    taken: dict[Device, int] = {}
    some = _preferred([seat for seat in seats if not seat.is_cpu], machine)
    for seat in sorted(some, key=lambda seat: -seat.gpu_count):
        if len(taken) + seat.gpu_count > gpus or any(device in taken for device in seat.devices):
            continue
        whole = Seat(tuple(Reservation(device, WHOLE) for device in seat.devices))
        if has_room(whole, booked) and _polite([*taken, *seat.devices], seats, booked, machine):
            taken.update(whole.holds)
        if len(taken) == gpus:
            return tuple(Reservation(*one) for one in taken.items())
    return None


# -- by memory ------------------------------------------------------------------------------------------------------


def _by_memory(ask: Ask, seats: Sequence[Seat], booked: Ledger, machine: Machine) -> Reservations | None:
    """On the fewest GPUs that are enough, first on those that have most free memory."""
    gpus = machine.order(gpus_in(seats))
    if not gpus:
        # Without GPUs there is no GPU memory to ask for; `alone` means its own slot.
        no_memory = ask.mb is None and ask.total_mb is None and not ask.larger_than_mb
        return _least_loaded(seats, seats, booked, machine) if no_memory and ask.gpus is None else None
    free = {gpu: machine.free_mb(gpu, booked) for gpu in gpus if _may_take(ask, gpu, booked, machine)}
    if machine.policy.prefer:
        # By what is booked, not by what is free: no two GPUs have the same memory free to the byte.
        order = sorted(free, key=lambda gpu: (gpu not in machine.policy.prefer, booked.get(gpu, 0)))
    else:
        order = sorted(free, key=lambda gpu: (*_crowd(ask, gpu, booked, machine), -free[gpu]))
    for count in [ask.gpus or 1] if ask.total_mb is None else range(1, len(order) + 1):
        fit = [gpu for gpu in order if _fits(ask, free[gpu], count)]
        chosen = _politely(fit, count, gpus, booked, machine)
        if len(chosen) == count:
            return tuple(Reservation(gpu, _share(ask, gpu, count, machine)) for gpu in chosen)
    return None


def _crowd(ask: Ask, gpu: str, booked: Ledger, machine: Machine) -> tuple[bool, int]:
    """Who is in its way there: others, for one that wants all of a GPU; and those beside whom it is tried out."""
    beside = booked.jobs[gpu] if ask.unknown else 0
    return _wants_whole(ask) and bool(machine.neighbours.get(gpu)), beside


def _may_take(ask: Ask, gpu: str, booked: Ledger, machine: Machine) -> bool:
    if machine.policy.jobs_per_gpu is None and ask.together is not None and booked.jobs[gpu] >= ask.together:
        return False
    if machine.is_full(gpu, booked) or machine.pressure.get(gpu, 0) >= WHOLE:
        return False
    if ask.larger_than_mb and machine.total_mb.get(gpu, 0) <= ask.larger_than_mb:
        return False
    if ask.unknown:
        return machine.takes_unknown(gpu, booked)
    return not _wants_whole(ask) or not booked.get(gpu, 0)


def _fits(ask: Ask, free_mb: float, count: int) -> bool:
    """If memory is split evenly, each GPU needs strictly more than its part."""
    return free_mb >= (ask.mb or 0) if ask.total_mb is None else count * free_mb > ask.total_mb


def _politely(
    fit: Sequence[Device], count: int, gpus: Sequence[Device], booked: Ledger, machine: Machine
) -> list[Device]:
    """The first `count` of them that may be used together."""
    chosen: list[Device] = []
    for gpu in fit:
        if len(chosen) < count and machine.may_use([*chosen, gpu], gpus, booked):
            chosen.append(gpu)
    return chosen


def _wants_whole(ask: Ask) -> bool:
    return ask.alone or (ask.mb is None and ask.total_mb is None)


def _share(ask: Ask, gpu: str, count: int, machine: Machine) -> int:
    if _wants_whole(ask):
        return (machine.guess_of(gpu) if ask.unknown and machine.is_read(gpu) else None) or WHOLE
    return machine.share_of(gpu, ask.mb) if ask.mb is not None else machine.share_of(gpu, ask.total_mb or 0, count)


# -- never ----------------------------------------------------------------------------------------------------------


def refusal(
    ask: Ask,
    seats: Sequence[Seat],
    machine: Machine = BARE,
    chosen_by: str = "duckrow up ",
    written: Callable[[str], str] = as_option,
) -> str | None:
    """Why such a job could never run on these seats, in words; None if it could.

    What others use today may be free tomorrow, so only the sizes count. `chosen_by`: the command whose `--devices`
    these are; empty for the one that was typed. `written`: how the one who asks writes a field of the job.
    """
    too_much = over_the_machine(ask, machine)
    if too_much:
        return too_much
    empty = machine.without_others()
    if place(ask, seats, Ledger(), empty) is not None:
        return None
    names = sorted(gpus_in(seats))
    if names and place(ask, seats, Ledger(), empty.without_politeness()) is not None:
        return _too_polite(machine.policy, names)
    if ask.mb is not None or ask.total_mb is not None or ask.larger_than_mb:
        return _too_little_memory(ask, names, empty, chosen_by, written)
    return _too_few(ask.gpus, seats, names, written)


def _too_polite(policy: Policy, names: Sequence[str]) -> str:
    most = [] if policy.max_gpus is None else [f"--max-gpus {policy.max_gpus}"]
    left = [f"--min-free-gpus {policy.min_free_gpus}"] if policy.min_free_gpus else []
    return f"It asks for more of the {plural(len(names), 'GPU')} than {' and '.join([*most, *left])} allows."


def over_the_machine(ask: Ask, machine: Machine) -> str | None:
    """Whether it asks for more cores or memory than the machine has, in words."""
    if machine.cpus is not None and ask.cpus > machine.cpus:
        return f"It asks for {ask.cpus} cores, but this machine has {machine.cpus}."
    if machine.mem_mb is not None and ask.mem_mb > machine.mem_mb:
        return f"It asks for {format_mb(ask.mem_mb)} of memory, but this machine has {format_mb(machine.mem_mb)}."
    return None


def _too_little_memory(
    ask: Ask, names: Sequence[str], machine: Machine, chosen_by: str, written: Callable[[str], str]
) -> str:
    if not names:
        field = "gpu_mem" if ask.total_mb is None else "total_gpu_mem"
        return f"It asks for GPU memory, but there is no GPU here. Omit {written(field)}."
    sizes = {name: machine.total_mb[name] for name in names if name in machine.total_mb}
    if not sizes:
        from duckrow.core.devices.typed_devices import unknown_size  # few jobs are refused

        return unknown_size(names, sizes, chosen_by)
    if ask.total_mb is not None:
        there = f"{format_mb(sum(sizes.values()))} on {plural(len(names), 'GPU')}"
        return f"It asks for {format_mb(ask.total_mb)} of GPU memory in even parts, but there is only {there}."
    if ask.larger_than_mb and max(sizes.values()) <= ask.larger_than_mb:
        return f"It ran out of memory alone on a GPU of {format_mb(ask.larger_than_mb)}, and there is no larger one."
    asked = f"It asks for {format_mb(ask.mb or 0)} of GPU memory"
    enough = sum(machine.free_mb(name, {}) >= (ask.mb or 0) for name in sizes)
    if enough:
        have = "has" if enough == 1 else "have"
        return f"{asked} on each of {ask.gpus} GPUs, but only {enough} of {plural(len(names), 'GPU')} {have} that much."
    largest = max(sizes, key=lambda name: sizes[name])
    kept_mb = sizes[largest] - machine.free_mb(largest, {})
    kept = f", of which {format_mb(kept_mb)} are kept free (--mem-margin)" if kept_mb >= 1 else ""
    return f"{asked}, but the largest GPU has {format_mb(sizes[largest])}{kept}."


def _too_few(gpus: int | None, seats: Sequence[Seat], names: Sequence[str], written: Callable[[str], str]) -> str:
    if gpus is None:
        return "No device is left."
    cpu_slots = sum(seat.is_cpu for seat in seats)
    asked = plural(gpus or 0, "GPU")
    if gpus == 0:
        there = f"there is no CPU slot beside the {plural(len(names), 'GPU')}"
        return f"It asks for no GPU, but {there}. Add CPU slots with --slots, or let it ask for a GPU."
    if not names:
        there = f"there is none here, only {plural(cpu_slots, 'CPU slot')}"
        return f"It asks for {asked}, but {there}. Omit {written('gpus')}."
    sizes = sorted({seat.gpu_count for seat in seats if not seat.is_cpu})
    if max(sizes) > 1:
        groups = " ".join("+".join(seat.devices) for seat in seats if not seat.is_cpu)
        return f"It asks for {asked}, but jobs get one of these groups: {groups}."
    there = f"there {'is' if len(names) == 1 else 'are'} {len(names)}: {', '.join(names)}"
    return f"It asks for {asked}, but {there}. Ask for at most {len(names)}."
