"""A job of a trace, the GPUs that it is simulated on, and when each job ran."""

from __future__ import annotations

import re
from collections.abc import Sequence

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import shorten
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import format_duration, format_mb, parse_size_mb

_DEVICES = re.compile(r"(\d{1,4})x(?:([A-Za-z0-9_ -]*?)[-:])?(\d+(?:\.\d+)?[GgMm][Bb]?)")
_MOST_GPUS = 1024


class TraceJob(NamedTuple):
    comes_at: float  # in seconds since the first one
    run_s: float
    gpus: int = 1
    memory_mb: int | None = None  # on each of them; None: it has them to itself
    command: str = "./job"  # what tells jobs apart whose run times are learned

    def share(self, gpu_mb: int) -> float:
        """Of each GPU."""
        return 1.0 if self.memory_mb is None else self.memory_mb / gpu_mb


class SimulatedGpus(NamedTuple):
    number: int
    memory_mb: int
    words: str

    @property
    def names(self) -> list[str]:
        return [str(number) for number in range(self.number)]


class JobSpan(NamedTuple):
    """When and where a job ran, in seconds since the first came."""

    start: float
    end: float
    gpus: tuple[int, ...]


JobSpans = Sequence[JobSpan]


def parse_simulated_gpus(text: str) -> SimulatedGpus:
    """`8xH100-80G`, `4x24G`."""
    found = _DEVICES.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' does not say which GPUs to simulate. Write how many, and their memory: 8xH100-80G.")
    count, mb = int(found[1]), parse_size_mb(found[3])
    if not 1 <= count <= _MOST_GPUS or mb < 1:
        raise UsageError(f"'{text}': between 1 and {_MOST_GPUS} GPUs can be simulated, each with some memory.")
    return SimulatedGpus(count, mb, text.strip())


def check_fits(jobs: Sequence[TraceJob], gpus: SimulatedGpus) -> None:
    for job in jobs:
        if job.gpus > gpus.number:
            raise UsageError(f"{_named(job)} needs {job.gpus} GPUs; {gpus.words} has {gpus.number}.")
        if job.memory_mb is not None and job.memory_mb > gpus.memory_mb:
            asked, there = format_mb(job.memory_mb), format_mb(gpus.memory_mb)
            raise UsageError(f"{_named(job)} needs {asked} on each GPU; {gpus.words} has {there}.")


def _named(job: TraceJob) -> str:
    return f"A job of the trace ({shorten(job.command)}, {format_duration(job.run_s)})"
