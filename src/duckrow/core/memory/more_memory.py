"""What a job that ran out of memory asks for next time, until there is nothing left to try."""

from __future__ import annotations

from duckrow.core.devices.needs import Needs
from duckrow.core.memory.prediction import leaves_room
from duckrow.core.named_tuple import NamedTuple

_TRIES_BESIDE_OTHERS = 3
_NEARLY_EMPTY = 0.93  # the share of a GPU that is available when nobody else uses it


class RanOut(NamedTuple):
    """The situation of an attempt that ran out of GPU memory."""

    held_mb: int | None  # what it had reserved on each GPU; None: nobody knows
    peak_mb: int  # the most that was seen
    wanted_mb: int  # what it was asking for, by the end of its log; 0: unknown
    alone: bool  # nothing else had reserved any of its GPUs
    total_mb: int | None  # of the smallest of its GPUs
    largest_mb: int | None  # there are as many GPUs of this size or more as it had
    foreign_mb: int = 0  # what others used on the fullest of its GPUs
    all_mb: int | None = None  # what all GPUs here hold together, if each takes an equal part
    seen_mb: int = 0  # what is reserved for jobs of its recipe that use more than it had; 0: none is known

    @property
    def kept_to_its_own(self) -> bool:
        """Whether others used what was reserved for it, so that it needs no more than it had."""
        wants_mb = max(self.peak_mb, self.wanted_mb) if self.wanted_mb else None
        return wants_mb is not None and self.held_mb is not None and wants_mb <= self.held_mb and not self.seen_mb


def next_needs(needs: Needs, ending: RanOut) -> Needs | None:
    """More memory, then a GPU to itself, then a larger GPU; None: it was alone on the largest."""
    ran_out_mb = max(needs.ran_out_mb, ending.peak_mb, ending.wanted_mb)
    again = needs._replace(ooms=needs.ooms + 1, ran_out_mb=ran_out_mb)
    if ending.alone and ending.foreign_mb and ending.total_mb is not None:
        raised = _without_others(again, ending, ending.total_mb)
        if raised.gpu_mem_mb != needs.gpu_mem_mb:
            return raised
    if ending.alone:
        is_largest = ending.total_mb is None or ending.largest_mb is None or ending.total_mb >= ending.largest_mb
        return None if is_largest else again._replace(alone=True, larger_than_mb=ending.total_mb or 0)
    if needs.total_gpu_mem_mb is not None:
        most_mb = int((ending.all_mb or needs.total_gpu_mem_mb * 2) * _NEARLY_EMPTY)
        if needs.total_gpu_mem_mb >= most_mb:
            return None
        return again._replace(total_gpu_mem_mb=min(needs.total_gpu_mem_mb * 2, most_mb))
    if ending.kept_to_its_own and again.ooms <= _TRIES_BESIDE_OTHERS:
        return again
    more_mb = max(ending.seen_mb or (ending.held_mb or 0) * 2, _lacked_mb(ending))
    too_much = ending.largest_mb is None or not leaves_room(more_mb, ending.largest_mb)
    if too_much or ending.held_mb is None or again.ooms > _TRIES_BESIDE_OTHERS:
        return again._replace(alone=True, gpu_mem_mb=None)
    return again._replace(gpu_mem_mb=more_mb)


def _lacked_mb(ending: RanOut) -> int:
    """By what it said that it asked for; if it did not, twice what it had taken."""
    if not ending.wanted_mb:
        return ending.peak_mb * 2
    return max(ending.peak_mb * 5 // 4, ending.wanted_mb * 11 // 10)


def _without_others(again: Needs, ending: RanOut, total_mb: int) -> Needs:
    """It was our only job there, but others used part of the GPU: it waits for a GPU with more free memory."""
    had_mb = total_mb - ending.foreign_mb
    more_mb = max(had_mb * 5 // 4, ending.peak_mb * 5 // 4, ending.wanted_mb * 11 // 10)
    most_mb = int((ending.largest_mb or total_mb) * _NEARLY_EMPTY)
    return again._replace(alone=True, gpu_mem_mb=min(more_mb, most_mb), larger_than_mb=again.larger_than_mb)


def next_host_needs(needs: Needs, machine_mb: int | None) -> Needs | None:
    """The same for the machine's memory: twice as much, then all of it; None: it had all."""
    if machine_mb is None or (needs.mem_mb or 0) >= machine_mb:
        return None
    wanted = min((needs.mem_mb or machine_mb // 4) * 2, machine_mb)
    return needs._replace(ooms=needs.ooms + 1, mem_mb=wanted)
