"""What a job asks for besides a number of GPUs: memory of the GPUs, cores and memory of the machine."""

from __future__ import annotations

import json
from functools import lru_cache

from duckrow.core.errors import FieldError, as_template
from duckrow.core.named_tuple import NamedTuple


class Needs(NamedTuple):
    gpu_mem_mb: int | None = None  # on each of its GPUs
    total_gpu_mem_mb: int | None = None  # on all its GPUs together; duckrow chooses how many
    auto: bool = False  # as much as similar jobs have used; while that is unknown, it is tried out
    recipe: str = ""  # what makes two jobs similar for memory
    parameters: str = ""  # what it is called with: JSON, as core/memory/parameters.py writes it
    deciding: str = ""  # which of them decide its memory, separated by commas; empty: learned
    cpus: int | None = None
    mem_mb: int | None = None
    mem_limit: bool = False  # it gets no more than mem_mb: the kernel kills what uses more
    # Learned from running out of memory:
    ooms: int = 0  # how often it has run out of memory
    ran_out_mb: int = 0  # the most that it had or wanted then: it needs at least this much
    alone: bool = False  # it ran out beside others: it gets a GPU to itself
    larger_than_mb: int = 0  # it ran out alone on a GPU of this size: it needs a larger one

    def as_text(self) -> str | None:
        """As stored; None for a job that asks for nothing."""
        if self is NO_NEEDS:
            return None
        changed = {name: value for name, value in self._asdict().items() if value != Needs._field_defaults[name]}
        return json.dumps(changed) if changed else None


NO_NEEDS = Needs()


@lru_cache(maxsize=1024)
def needs_from(text: str | None) -> Needs:
    return NO_NEEDS if text is None else Needs(**json.loads(text))


def check_needs(needs: Needs, gpus: int | None) -> None:
    """Raises if the needs contradict each other: duckrow does not guess."""
    if needs.gpu_mem_mb is not None and needs.total_gpu_mem_mb is not None:
        raise FieldError("Either {gpu_mem} (for each GPU) or {total_gpu_mem} (for all together), not both.")
    if needs.total_gpu_mem_mb is not None and needs.auto:
        raise FieldError("Either {total_gpu_mem}, or leave it to duckrow (--pack, {gpu_mem} auto), not both.")
    if needs.total_gpu_mem_mb is not None and gpus is not None:
        raise FieldError("{total_gpu_mem} chooses how many GPUs there are. Omit {gpus}, or use {gpu_mem}.")
    if gpus == 0 and (needs.gpu_mem_mb or needs.total_gpu_mem_mb or needs.auto):
        raise FieldError("A job without a GPU needs no GPU memory. Omit one of the two.")
    if needs.mem_limit and needs.mem_mb is None:
        raise FieldError("{mem_limit} needs {mem}, the most that the job may use, such as 16G.")
    for what, value in (
        ("gpu_mem", needs.gpu_mem_mb),
        ("total_gpu_mem", needs.total_gpu_mem_mb),
        ("cpus", needs.cpus),
        ("mem", needs.mem_mb),
    ):
        if value is not None and value < 1:
            raise FieldError(f"{as_template(what)} must be more than 0.")


def with_margin(peak_mb: int, is_same: bool = False) -> int:
    """What to reserve for a job with this peak. `is_same`: the very same command had it, and it varies little from
    run to run; a margin of a tenth would often leave no room on a GPU for the last job of a batch."""
    return peak_mb * (103 if is_same else 110) // 100 + 64


class Ask(NamedTuple):
    """What a job wants of the devices, with all that is known about it filled in."""

    gpus: int | None = None  # None: one device, a GPU where there are GPUs; 0: a CPU slot
    mb: int | None = None  # of each GPU; None: all of it, or a slot
    total_mb: int | None = None
    alone: bool = False  # all of each GPU; nothing else may hold any of it
    unknown: bool = False  # nothing is known about it: it may be tried out beside other such jobs
    larger_than_mb: int = 0
    cpus: int = 0
    mem_mb: int = 0
    together: int | None = None  # at most this many jobs on its GPU, including itself: more did not help


PLAIN = Ask()


def wants_whole_gpus(ask: Ask) -> bool:
    """Whether it wants GPUs, or slots of them, and names no memory: it shares them with nobody else."""
    by_memory = ask.mb is not None or ask.total_mb is not None or ask.alone or ask.larger_than_mb > 0
    return ask.gpus != 0 and not by_memory


def is_packed(ask: Ask) -> bool:
    """Whether it shares GPUs by an amount of memory on each: such jobs come in many sizes, for gaps of many sizes."""
    return ask.mb is not None and not ask.alone and not ask.larger_than_mb


@lru_cache(maxsize=4096)
def ask_of(gpus: int | None, text: str | None, learned_mb: int | None = None, unknown: bool = False) -> Ask:
    """`learned_mb`: what similar jobs have used. It counts if the job leaves its memory to duckrow, or if it is more
    than the job asks for. `unknown`: nothing is known about similar jobs.
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
