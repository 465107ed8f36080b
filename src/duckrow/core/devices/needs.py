"""What a job asks for besides a number of GPUs: memory of the GPUs, cores and memory of the machine."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from duckrow.core.errors import UsageError


class Needs(NamedTuple):
    gpu_mem_mb: int | None = None  # on each of its GPUs
    total_gpu_mem_mb: int | None = None  # on all its GPUs together; how many they are is for duckrow to choose
    auto: bool = False  # as much as similar jobs have used; while that is unknown, it is tried out
    recipe: str = ""  # what makes two jobs alike for their memory
    parameters: str = ""  # what it is called with: JSON, as core/memory/parameters.py writes it
    deciding: str = ""  # which of them decide its memory, with commas; empty: that is learned
    cpus: int | None = None
    mem_mb: int | None = None
    mem_limit: bool = False  # that memory is all it gets: the kernel ends what takes more
    # What it has learned the hard way.
    ooms: int = 0  # how often it has run out of memory
    alone: bool = False  # beside others it did: it gets a GPU to itself
    larger_than_mb: int = 0  # alone on a GPU of this size it did: it needs a larger one

    def as_text(self) -> str | None:
        """As the store keeps it; nothing for a job that asks for nothing."""
        if self is NO_NEEDS:
            return None
        changed = {name: value for name, value in self._asdict().items() if value != Needs._field_defaults[name]}
        return json.dumps(changed) if changed else None


NO_NEEDS = Needs()


@lru_cache(maxsize=1024)
def needs_from(text: str | None) -> Needs:
    return NO_NEEDS if text is None else Needs(**json.loads(text))


def check_needs(needs: Needs, gpus: int | None) -> None:
    """What contradicts itself is told, not guessed at."""
    if needs.gpu_mem_mb is not None and needs.total_gpu_mem_mb is not None:
        raise UsageError("Either --gpu-mem (for each GPU) or --total-gpu-mem (for all together), not both.")
    if needs.total_gpu_mem_mb is not None and needs.auto:
        raise UsageError("Either --total-gpu-mem, or leave it to duckrow (--pack, --gpu-mem auto), not both.")
    if needs.total_gpu_mem_mb is not None and gpus is not None:
        raise UsageError("--total-gpu-mem chooses how many GPUs there are. Omit --gpus, or use --gpu-mem.")
    if gpus == 0 and (needs.gpu_mem_mb or needs.total_gpu_mem_mb or needs.auto):
        raise UsageError("A job without a GPU needs no GPU memory. Omit one of the two.")
    if needs.mem_limit and needs.mem_mb is None:
        raise UsageError("--mem-limit needs --mem, the most that the job may use: --mem 16G --mem-limit.")
    for what, value in (
        ("--gpu-mem", needs.gpu_mem_mb),
        ("--total-gpu-mem", needs.total_gpu_mem_mb),
        ("--cpus", needs.cpus),
        ("--mem", needs.mem_mb),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{what} must be more than 0.")


def with_margin(peak_mb: int, is_same: bool = False) -> int:
    """What is reserved for one that takes so much. `is_same`: the very same command took it, which differs little from
    run to run; a tenth of each would often leave a GPU with no room for the last of a batch."""
    return peak_mb * (103 if is_same else 110) // 100 + 64


class Ask(NamedTuple):
    """What a job wants of the devices, with everything known about it put in."""

    gpus: int | None = None  # None: one device, a GPU where there are GPUs; 0: a CPU slot
    mb: int | None = None  # of each GPU; None: all of it, or a slot
    total_mb: int | None = None
    alone: bool = False  # all of each GPU, of which nothing else may hold anything
    unknown: bool = False  # as nothing is known of it: it may be tried out beside others of which nothing is known
    larger_than_mb: int = 0
    cpus: int = 0
    mem_mb: int = 0
    together: int | None = None  # no more jobs than these on its GPU, itself among them: more did not help


PLAIN = Ask()


def wants_whole_gpus(ask: Ask) -> bool:
    """Whether it wants GPUs, or slots of them, and says nothing about memory: it shares them with nobody else."""
    by_memory = ask.mb is not None or ask.total_mb is not None or ask.alone or ask.larger_than_mb > 0
    return ask.gpus != 0 and not by_memory


def is_packed(ask: Ask) -> bool:
    """Whether it shares GPUs with others by a figure for each: such jobs come in many sizes, for gaps of many sizes."""
    return ask.mb is not None and not ask.alone and not ask.larger_than_mb


@lru_cache(maxsize=4096)
def ask_of(gpus: int | None, text: str | None, learned_mb: int | None = None, unknown: bool = False) -> Ask:
    """`learned_mb`: what similar jobs have used. It counts for a job that leaves it to duckrow, and for one that has
    used more than it asks for. `unknown`: nobody knows anything of similar jobs.
    """
    if text is None:
        return Ask(gpus) if gpus is not None else PLAIN
    needs = needs_from(text)
    mb = needs.gpu_mem_mb
    if learned_mb is not None and (needs.auto or mb is not None):
        mb = max(mb or 0, learned_mb)
    alone = needs.alone or (needs.auto and mb is None)
    unknown = unknown and alone and not needs.alone
    total_mb, larger_than_mb = needs.total_gpu_mem_mb, needs.larger_than_mb
    return Ask(gpus, mb, total_mb, alone, unknown, larger_than_mb, needs.cpus or 0, needs.mem_mb or 0)
