"""The devices that a host may give out: seats, how they are written (`--devices`), and how much is booked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.devices.device import GPU_NAME, GPU_UUID, Device, Reservation, Reservations, cpu_slot, gpus_among
from duckrow.core.errors import UsageError
from duckrow.core.late_pattern import late_pattern
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import parse_size_mb

WHOLE = 1_000_000
"""All of a device. Shares are counted in millionths, so that they add up as integers."""

_MOST_IN_RANGE = 1024

_ONE_DEVICE = rf"(?:[0-9]+(?:-[0-9]+)?|{GPU_UUID})(?::\d+(?:\.\d+)?[kKmMgGtT]?(?:i?[bB])?)?"
_RANGE = late_pattern(r"(?<![\w./-])([0-9]+)-([0-9]+)(:[^,+]+)?(?![\w./-])")
_DEVICE_TOKEN = rf"(?:all|{_ONE_DEVICE}(?:[,+]{_ONE_DEVICE})*)?"


class Seat(NamedTuple):
    """A place where one job runs: shares of one or more devices."""

    holds: Reservations
    side: bool = False  # beside the GPUs, only for jobs that ask for no GPU

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(device for device, _ in self.holds)

    @property
    def is_cpu(self) -> bool:
        return self.holds[0].device.is_cpu_slot

    @property
    def gpu_count(self) -> int:
        return 0 if self.is_cpu else len(self.holds)


def looks_like_devices(token: str) -> bool:
    """Whether a word on the command line continues the list of `--devices`."""
    return re.fullmatch(_DEVICE_TOKEN, token) is not None


def refuse_no_device(tokens: Sequence[str]) -> None:
    """An empty word beside GPUs is a CPU slot. By itself, it is a shell variable without a value."""
    if tokens and not any(tokens):
        raise UsageError(
            "--devices '' names no GPU: is a shell variable empty? Name GPUs: --devices 0,1. For CPU slots: --slots 2. "
            "For all GPUs, omit --devices."
        )


def as_options(groups: Sequence[str]) -> list[str]:
    """How a program names its places: groups of GPUs, an empty one for a CPU slot."""
    if groups and not any(groups):
        return [f"--slots={len(groups)}"]
    return [f"--devices={group}" for group in groups]


def _refuse_other_words(tokens: Sequence[str]) -> None:
    for token in tokens:
        if looks_like_devices(token):
            continue
        if ":" in token:
            raise UsageError(f"'{token}' does not name GPUs. A size is written as in 0:24G, 0:24.5G or 0:24000M.")
        raise UsageError(
            f"'{token}' does not name GPUs. Write --devices 0,1,2 (one job each), --devices 0+1 (one job on both) "
            "or --devices all."
        )


def names_one_gpu(token: str) -> bool:
    return re.fullmatch(GPU_NAME, token) is not None


def expand_ranges(token: str) -> str:
    """`0-2` is `0,1,2`; in a group (`0-2+5`) it is `0+1+2`."""
    between = "+" if "+" in token else ","

    def expanded(match: re.Match[str]) -> str:
        first, last, size = int(match[1]), int(match[2]), match[3] or ""
        if last < first or last - first >= _MOST_IN_RANGE:
            raise UsageError(f"--devices {match[0]} is not a range of GPUs. Write 0-3 for 0,1,2,3.")
        return between.join(f"{number}{size}" for number in range(first, last + 1))

    return _RANGE.sub(expanded, token)


def as_ranges(names: Sequence[str]) -> str:
    """`0-3,7`: the reverse, for people."""
    words: list[str] = []
    run: list[int] = []
    for name in [*names, ""]:
        number = Device(name).gpu_number
        if number is not None and run and number == run[-1] + 1:
            run.append(number)
            continue
        if run:
            words.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]))
        run = [] if number is None else [number]
        words += [name] if name and not run else []
    return ",".join(words)


def split_sizes(tokens: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """`0:24G,1:24G`: the tokens without the sizes, and the memory of each device that has one, in MB."""
    _refuse_other_words(tokens)  # as they were typed
    sizes: dict[str, int] = {}

    def without_size(match: re.Match[str]) -> str:
        device, _, size = match[0].partition(":")
        if size:
            mb = parse_size_mb(size)
            if mb < 1:
                raise UsageError(f"--devices {match[0]} gives a GPU no memory. Write 0:24G.")
            if sizes.setdefault(device, mb) != mb:
                raise UsageError(f"GPU {device} was given two sizes. Name it once, as in {device}:24G.")
        return device

    listed = [expand_ranges(token) for token in tokens]
    return [re.sub(_ONE_DEVICE, without_size, token) if ":" in token else token for token in listed], sizes


def parse_gpus(tokens: Sequence[str], jobs_per_gpu: int = 1, all_gpus: Sequence[str] = ()) -> list[Seat]:
    """The seats that `--devices TOKENS` names.

    One token is split on commas: `0,1,2` is three seats. Of two or more tokens each is a seat: `0,1 2,3` is two
    seats of two GPUs. `0+1` is always one seat of both. A device that is named twice is shared by two jobs; an
    empty token is a CPU slot.
    """
    if jobs_per_gpu < 1:
        raise UsageError(f"--jobs-per-gpu {jobs_per_gpu} leaves no place to run on. Use 1 or more.")
    _refuse_other_words(tokens)
    tokens = [expand_ranges(token) for token in tokens]
    if len(tokens) == 1 and tokens[0] == "all":
        if not all_gpus:
            raise UsageError("--devices all: no GPU was found on this machine. Use --slots N to run on CPU slots.")
        groups = [[gpu] for gpu in all_gpus]
    elif "all" in tokens:
        raise UsageError("Use --devices all alone: it already means every GPU.")
    elif len(tokens) == 1:
        groups = [part.split("+") if part else [] for part in tokens[0].split(",")]
    else:
        groups = [re.split("[,+]", token) if token else [] for token in tokens]
    for group in groups:
        if len(set(group)) != len(group):
            raise UsageError(f"--devices {'+'.join(group)} names a GPU twice for one job.")
    return _seats_of(groups * jobs_per_gpu)


def _seats_of(groups: Sequence[Sequence[str]]) -> list[Seat]:
    named = Counter(name for group in groups for name in group)
    cpu_slots = iter(range(len(groups)))
    return [
        Seat(tuple(Reservation(Device(name), WHOLE // named[name]) for name in group))
        if group
        else Seat((Reservation(cpu_slot(next(cpu_slots)), WHOLE),))
        for group in groups
    ]


def shared_anew(seats: Sequence[Seat], jobs_per_gpu: int) -> list[Seat]:
    """The same GPUs, each for this many jobs at a time; CPU slots as they are."""
    groups = dict.fromkeys(seat.devices for seat in seats if not seat.is_cpu)
    return _seats_of([*groups] * jobs_per_gpu) + [seat for seat in seats if seat.is_cpu]


def cpu_seats(count: int, *, first: int = 0, side: bool = False) -> list[Seat]:
    """`count` slots without a GPU."""
    if count < 1:
        raise UsageError(f"--slots {count} leaves no place to run on. Use 1 or more.")
    return [Seat((Reservation(cpu_slot(number), WHOLE),), side) for number in range(first, first + count)]


def gpus_in(seats: Iterable[Seat]) -> list[Device]:
    """Each GPU once, in their order."""
    return list(dict.fromkeys(device for seat in seats if not seat.is_cpu for device in seat.devices))


class Ledger(dict[str, int]):
    """How much of each device is booked, in millionths, and by how many jobs."""

    def __init__(self, other: Ledger | None = None) -> None:
        super().__init__(other or {})
        self.jobs: Counter[str] = Counter() if other is None else other.jobs.copy()


def has_room(seat: Seat, booked: Mapping[str, int]) -> bool:
    for device, share in seat.holds:  # noqa: SIM110  (asked for each seat and job: a generator takes longer)
        if booked.get(device, 0) + share > WHOLE:
            return False
    return True


def load(seat: Seat, booked: Mapping[str, int]) -> float:
    """How much of its devices is booked, on average."""
    return sum(booked.get(device, 0) for device, _ in seat.holds) / len(seat.holds)


def book(holds: Iterable[tuple[str, int]], booked: Ledger, times: int = 1) -> None:
    for device, share in holds:
        booked[device] = booked.get(device, 0) + times * share
        booked.jobs[device] += times


def unbook(holds: Iterable[tuple[str, int]], booked: Ledger) -> None:
    book(holds, booked, -1)


def visible_devices(holds: Reservations, written: Mapping[str, str] = {}) -> str:
    """The value of CUDA_VISIBLE_DEVICES: the GPUs by number, nothing for a CPU slot. `written`: other names."""
    return ",".join(written.get(gpu, gpu) for gpu in gpus_among(holds))
