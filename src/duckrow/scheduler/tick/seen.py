"""What a tick has seen: all that a decision depends on, besides the live attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.named_tuple import NamedTuple


class Seen(NamedTuple):
    queue: Sequence[QueuedJob]
    seats: Sequence[Seat]  # that may get a job
    machine: Machine
    room: Mapping[str, int]  # how many more of a limited scope may run
