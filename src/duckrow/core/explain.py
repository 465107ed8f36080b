"""Why a job is not running: the very rules that place it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from duckrow.core.dependency import in_words
from duckrow.core.inventory import Seat, describe_devices, has_room
from duckrow.core.placement import place, refusal
from duckrow.core.units import format_duration, plural


class Holder(NamedTuple):
    """Who has a device, and for how much longer, if that can be told."""

    device: str
    job_id: int
    name: str
    left_s: float | None


class Waiting(NamedTuple):
    """All that decides when a job that waits will start."""

    gpus: int | None
    held: bool
    wait_s: float | None  # until its time comes: --begin, or the back-off of a retry
    paused: str | None  # what is paused: the project's name, or empty for all
    waits_for: tuple[tuple[int, str], ...]  # (job, condition) not yet met
    limit: tuple[str, int, int] | None  # (what, most, running)
    host: str | None  # the name of a run that is over, which alone may start it
    daemon_runs: bool
    seats: tuple[Seat, ...]
    drained: frozenset[str]
    booked: Mapping[str, int]
    holders: tuple[Holder, ...]
    ahead: tuple[tuple[int, int | None], ...]  # (job, gpus) of those before it
    ahead_count: int


def explain(job: Waiting) -> list[str]:
    """Every reason, the one that must go first first."""
    reasons = list(_wishes(job))
    if job.host is not None:
        reasons.append(f"it belongs to the run {job.host}, which is over: duckrow run --resume={job.host}")
    elif not job.daemon_runs:
        reasons.append("the daemon is not running: duckrow up")
    if reasons:
        return reasons
    usable = [seat for seat in job.seats if job.drained.isdisjoint(seat.devices)]
    never = refusal(job.gpus, usable)
    if never:
        drained = f" ({', '.join(sorted(job.drained))} drained)" if job.drained else ""
        return [f"it could never start as things are. {never}{drained}"]
    reasons += _places(job, usable)
    return reasons or ["it can start now, and will in a moment"]


def _wishes(job: Waiting) -> list[str]:
    reasons = []
    if job.held:
        reasons.append("it is held: duckrow release")
    if job.wait_s is not None and job.wait_s > 0:
        reasons.append(f"its time has not come: {format_duration(job.wait_s)} to go")
    if job.paused is not None:
        reasons.append(f"{job.paused or 'everything'} is paused: duckrow resume")
    reasons += [f"it waits for {in_words(condition, job_id)}" for job_id, condition in job.waits_for]
    if job.limit is not None and job.limit[2] >= job.limit[1]:
        what, most, running = job.limit
        reasons.append(f"{what} may run {plural(most, 'job')} at a time, and {running} run")
    return reasons


def _places(job: Waiting, usable: Sequence[Seat]) -> list[str]:
    reasons = []
    blocking = _first_that_waits(job, usable)
    if blocking is not None:
        reasons.append(f"job {blocking} comes first and waits itself")
    elif job.ahead_count:
        reasons.append(f"{plural(job.ahead_count, 'job')} come first" if job.ahead_count > 1 else "1 job comes first")
    if place(job.gpus, usable, job.booked) is None:
        needs = "a device" if job.gpus is None else "a CPU slot" if job.gpus == 0 else plural(job.gpus, "GPU")
        kind = [seat for seat in usable if (seat.is_cpu if job.gpus == 0 else not seat.side)]
        free = sum(has_room(seat, job.booked) for seat in kind)
        reasons.append(f"it needs {needs}; {free} of {len(kind)} {'is' if free == 1 else 'are'} free")
        relevant = {device for seat in kind for device in seat.devices}
        reasons += [_held(holder) for holder in job.holders if holder.device in relevant]
    return reasons


def _first_that_waits(job: Waiting, usable: Sequence[Seat]) -> int | None:
    """The first of those ahead that wants the same kind of device and cannot have it now."""
    any_gpu = any(not seat.is_cpu for seat in usable)
    for job_id, gpus in job.ahead:
        same_kind = not any_gpu or (gpus == 0) == (job.gpus == 0)
        if same_kind and place(gpus, usable, job.booked) is None and refusal(gpus, usable) is None:
            return job_id
    return None


def _held(holder: Holder) -> str:
    what = describe_devices([(holder.device, 0)])
    left = "" if holder.left_s is None else f" for about {format_duration(max(holder.left_s, 0))} more"
    return f"{what} is held by job {holder.job_id} ({holder.name}){left}"
