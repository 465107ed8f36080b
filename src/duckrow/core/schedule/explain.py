"""Why a job is not running: the same rules that place it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.devices.device import Device, describe_devices
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, has_room
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Ask, is_packed, wants_whole_gpus
from duckrow.core.devices.neighbours import others
from duckrow.core.life.dependencies import AwaitedJob, awaited_in_words
from duckrow.core.life.pausing import resume_command
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.schedule.backfill import Comer, FirstStart, Front, Shadow
from duckrow.core.schedule.decide import CORES, MEMORY, machine_has_room
from duckrow.core.schedule.placement import place, refusal
from duckrow.core.units import format_duration, format_mb, plural

SOON = "it can start now, and will in a moment"
_LATER = "there is room for it now; if the same command grew before, it may wait for others, so that all end sooner"


class Holder(NamedTuple):
    """Which job has a device, and for how much longer, if we know."""

    device: Device
    job_id: int
    name: str
    left_s: float | None
    is_suspended: bool = False


class WaitingJob(NamedTuple):
    """Everything that decides when a waiting job will start."""

    ask: Ask
    held: bool
    wait_s: float | None  # until its time comes: --begin, or the back-off of a retry
    paused: str | None  # what is paused: the project's name, or empty for all
    waits_for: tuple[AwaitedJob, ...]  # not yet met
    limit: tuple[str, int, int] | None  # (what, most, running)
    ended_run: tuple[str, str] | None  # only that run may start it; (its name, what to type)
    daemon_runs: bool
    seats: tuple[Seat, ...]
    drained: frozenset[str]
    booked: Ledger
    holders: tuple[Holder, ...]
    turn: Comer
    ahead: tuple[tuple[Comer, Ask], ...]  # the jobs before it, with what they ask for
    ahead_count: int
    is_retry: bool = False
    shadow: Shadow | None = None  # when those that run will have ended
    machine: Machine = BARE
    room: Mapping[str, int] = {}  # what is left of the machine's cores and memory
    set_aside: Mapping[str, str] = {}  # GPUs that are broken, or look so, and why
    ownerless_mb: Mapping[str, int] = {}  # for each GPU, memory that is in use although no process has it


def explain(job: WaitingJob) -> list[str]:
    """What must go first: what people want, other jobs, a dead host. Without any of these, the devices."""
    reasons = list(_wishes(job))
    if job.ended_run is not None:
        name, command = job.ended_run
        reasons.append(f"it belongs to the run {name}, which has ended: {command}")
    elif not job.daemon_runs:
        reasons.append("the daemon is not running: duckrow up")
    if reasons:
        return reasons
    out_of_use = job.drained | job.set_aside.keys()
    usable = [seat for seat in job.seats if out_of_use.isdisjoint(seat.devices)]
    never = refusal(job.ask, usable, job.machine)
    if never:
        drained = f" ({', '.join(sorted(job.drained))} drained)" if job.drained else ""
        return [f"it can never start as things are. {never}{drained}", *_set_aside(job)]
    reasons += _places(job, usable)
    return reasons or [SOON]


def why_held(job_id: int) -> str:
    return f"it is held: duckrow release {job_id}"


def _wishes(job: WaitingJob) -> list[str]:
    reasons = []
    if job.held:
        reasons.append(why_held(job.turn.id))
    if job.wait_s is not None and job.wait_s > 0:
        left = format_duration(job.wait_s)
        reasons.append(f"it is tried again in {left}" if job.is_retry else f"it starts in {left} (--begin)")
    if job.paused is not None:
        reasons.append(f"{job.paused or 'everything'} is paused: {resume_command(job.paused)}")
    reasons += [f"it waits for {awaited}" for awaited in awaited_in_words(job.waits_for)]
    if job.limit is not None and job.limit[2] >= job.limit[1]:
        what, most, running = job.limit
        are = "is" if running == 1 else "are"
        reasons.append(f"{what} may run {plural(most, 'job')} at a time, and {running} {are} running")
    return reasons


def _places(job: WaitingJob, usable: Sequence[Seat]) -> list[str]:
    reasons = []
    blocking = _first_that_waits(job, usable)
    if blocking is not None:
        reasons.append(f"job {blocking} comes first and is waiting itself")
    elif job.ahead_count:
        reasons.append(f"{plural(job.ahead_count, 'job')} come first" if job.ahead_count > 1 else "1 job comes first")
    reasons += _machine_reasons(job)
    if place(job.ask, usable, job.booked, job.machine) is None:
        kind = [seat for seat in usable if (seat.is_cpu if job.ask.gpus == 0 else not seat.side)]
        by_memory = _by_memory(job.ask) and any(not seat.is_cpu for seat in kind)
        relevant = list(dict.fromkeys(device for seat in kind for device in seat.devices))
        if by_memory:
            relevant = [device for device in relevant if device.is_gpu]
            reasons += _memory_reasons(job, relevant)
        else:
            free = sum(has_room(seat, job.booked) and not _is_left_alone(seat, job) for seat in kind)
            what = wanted(job.ask._replace(alone=False))
            reasons.append(f"it needs {what}; {free} of {len(kind)} {'is' if free == 1 else 'are'} free")
        reasons += _neighbour_reasons(job, usable)
        reasons += _polite_reasons(job, usable)
        reasons += _set_aside(job) if job.ask.gpus != 0 else []
        reasons += [_held(holder) for holder in job.holders if holder.device in relevant]
    elif is_packed(job.ask) and job.holders and not reasons:
        reasons.append(_LATER)  # core/memory/start_plan.py; only its host has the plan
    return reasons


def _is_left_alone(seat: Seat, job: WaitingJob) -> bool:
    whole = wants_whole_gpus(job.ask)
    return not seat.is_cpu and any(job.machine.is_left_alone(device, whole) for device in seat.devices)


def _set_aside(job: WaitingJob) -> list[str]:
    return [
        f"GPU {gpu} is set aside: {why}; to use it again: duckrow gpus add {gpu}" for gpu, why in job.set_aside.items()
    ]


def _by_memory(ask: Ask) -> bool:
    return ask.mb is not None or ask.total_mb is not None or ask.alone or ask.larger_than_mb > 0


def wanted(ask: Ask) -> str:
    """The reasons that concern devices, in words."""
    if ask.gpus == 0:
        return "a CPU slot"
    if ask.total_mb is not None:
        return f"{format_mb(ask.total_mb)} of GPU memory"
    size = f" of more than {format_mb(ask.larger_than_mb)}" if ask.larger_than_mb else ""
    own = " to itself" if ask.alone or ask.larger_than_mb else ""
    if ask.mb is not None:
        return f"{format_mb(ask.mb)} on {'a GPU' if (ask.gpus or 1) == 1 else f'each of {ask.gpus} GPUs'}{size}{own}"
    if ask.unknown:
        return (
            f"{'a GPU' if (ask.gpus or 1) == 1 else f'{ask.gpus} GPUs'} without known jobs, as nothing is known of it"
        )
    if own:
        return f"{'a GPU' if (ask.gpus or 1) == 1 else f'{ask.gpus} GPUs'}{size}{own}"
    return "a device" if ask.gpus is None else plural(ask.gpus, "GPU")


def _memory_reasons(job: WaitingJob, gpus: Sequence[str]) -> list[str]:
    """What each GPU has free, and who else uses it."""
    told = []
    for gpu in gpus:
        if gpu in job.machine.locked_by:
            told.append(_locked(gpu, job.machine.locked_by[gpu]))
            continue
        if _is_unread(job.machine, gpu):
            told.append(
                _missing(job.machine, gpu) or f"the free memory of GPU {gpu} is unknown, so nothing starts there"
            )
            continue
        if gpu not in job.machine.total_mb:
            continue  # we name its holder anyway
        free = format_mb(max(job.machine.free_mb(gpu, job.booked), 0))
        if _is_enough(job, gpu):
            told.append(f"GPU {gpu} has {job.booked.jobs[gpu]} jobs, and more at a time did not help (--jobs-per-gpu)")
            continue
        others = job.machine.foreign_mb.get(gpu, 0)
        told.append(f"GPU {gpu} has {free} free" + (f", others use {format_mb(others)} of it" if others else ""))
    return [f"it needs {wanted(job.ask)}", *told, *(_ownerless(job, gpu) for gpu in gpus if gpu in job.ownerless_mb)]


def _is_enough(job: WaitingJob, gpu: str) -> bool:
    most = job.ask.together if job.machine.policy.jobs_per_gpu is None else None
    return most is not None and job.booked.jobs[gpu] >= most


def _locked(gpu: str, user: str) -> str:
    return f"{user}'s duckrow has just started a job on GPU {gpu}: waiting for its memory to show, at most 2 minutes"


def _ownerless(job: WaitingJob, gpu: str) -> str:
    return (
        f"{format_mb(job.ownerless_mb[gpu])} of GPU {gpu} belong to no visible process: one outside this "
        "container has them, or a reset frees them (nvidia-smi --gpu-reset)"
    )


def _neighbour_reasons(job: WaitingJob, usable: Sequence[Seat]) -> list[str]:
    """Which people outside duckrow it waits for, and what to type to start beside them."""
    machine = job.machine
    gpus = dict.fromkeys(device for seat in usable if not seat.is_cpu for device in seat.devices)
    left_alone = [gpu for gpu in gpus if machine.is_left_alone(gpu, wants_whole_gpus(job.ask))]
    reasons = []
    for gpu in left_alone:
        found = machine.neighbours.get(gpu, ())
        users = found if machine.policy.only_idle else others(found)
        if gpu in machine.locked_by:
            reasons.append(_locked(gpu, machine.locked_by[gpu]))
        elif users:
            reasons.append(f"GPU {gpu} is used by {', '.join(map(str, users))}")
        elif gpu in machine.unread:
            reasons.append(_missing(machine, gpu) or f"the driver does not say who is using GPU {gpu}")
    waits_for_people = len(left_alone) > len(machine.missing(left_alone))
    if waits_for_people and not machine.policy.only_idle:
        reasons.append("it waits until other people's processes are gone (--share-gpus: start beside them)")
    return reasons


def _missing(machine: Machine, gpu: str) -> str | None:
    from duckrow.core.devices.typed_devices import missing_gpus  # few GPUs are silent

    return missing_gpus([gpu], machine)


def _is_unread(machine: Machine, gpu: str) -> bool:
    """A GPU that does not answer is recorded as full of others; a real one is never full to the last megabyte."""
    foreign_mb = machine.foreign_mb.get(gpu, 0)
    return machine.pressure.get(gpu, 0) >= WHOLE and (not foreign_mb or foreign_mb >= machine.total_mb.get(gpu, 0))


def _polite_reasons(job: WaitingJob, usable: Sequence[Seat]) -> list[str]:
    """Devices that are free, but left to others."""
    policy = job.machine.policy
    if place(job.ask, usable, job.booked, job.machine.without_politeness()) is None:
        return []
    reasons = [
        (policy.max_gpus is not None, f"at most {plural(policy.max_gpus or 0, 'GPU')} may be used at a time"),
        (policy.min_free_gpus > 0, f"{plural(policy.min_free_gpus, 'GPU')} must stay free"),
        (policy.only_idle, "GPUs that somebody else is using are not used"),
        (policy.jobs_per_gpu is not None, f"at most {plural(policy.jobs_per_gpu or 0, 'job')} may share a GPU"),
    ]
    return [reason for is_set, reason in reasons if is_set]


def _machine_reasons(job: WaitingJob) -> list[str]:
    cores, memory = job.room.get(CORES), job.room.get(MEMORY)
    reasons = []
    if cores is not None and job.ask.cpus > cores:
        reasons.append(f"it needs {plural(job.ask.cpus, 'core')}; {cores} of {job.machine.cpus} are free")
    if memory is not None and job.ask.mem_mb > memory:
        reasons.append(
            f"it needs {format_mb(job.ask.mem_mb)} of memory; {format_mb(max(memory, 0))} of "
            f"{format_mb(job.machine.mem_mb or 0)} are free"
        )
    return reasons


def _first_that_waits(job: WaitingJob, usable: Sequence[Seat]) -> int | None:
    """The first of those ahead that cannot start now, and that this one may not overtake."""
    any_gpu = any(not seat.is_cpu for seat in usable)
    front = Front()
    for turn, ask in job.ahead:
        waits_for_machine = not machine_has_room(ask, job.room)
        waits = waits_for_machine or place(ask, usable, job.booked, job.machine) is None
        if not waits or refusal(ask, usable, job.machine) is not None:
            continue
        if waits_for_machine and (job.ask.cpus or job.ask.mem_mb):
            return turn.id
        if any_gpu and (ask.gpus == 0) != (job.ask.gpus == 0):
            continue
        _join(front, turn, ask, job, usable)
        if waits_for_machine:
            front.shut()
        if not front.lets_pass(job.turn, job.ask):
            return turn.id
    return None


def _join(front: Front, turn: Comer, ask: Ask, job: WaitingJob, usable: Sequence[Seat]) -> None:
    start = None
    if front.is_empty and job.shadow is not None:
        start = FirstStart(ask, job.shadow, usable, job.booked, job.machine)
    front.join(turn, ask, start)


def _held(holder: Holder) -> str:
    what = describe_devices([holder.device])
    return f"{what} is held by job {holder.job_id} ({holder.name}){_how_long(holder)}"


def _how_long(holder: Holder) -> str:
    if holder.is_suspended:
        return f", which is suspended: duckrow resume {holder.job_id}"
    if holder.left_s is None:
        return ""
    overdue = ", which has run longer than usual"
    return f" for about {format_duration(holder.left_s)} more" if holder.left_s > 0 else overdue
