"""What a tick has seen: all that a decision depends on, besides the live attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # most runs never ask how long jobs will run
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes


class Seen(NamedTuple):
    queue: Sequence[QueuedJob]
    seats: Sequence[Seat]  # that may get a job
    machine: Machine
    room: Mapping[str, int]  # how many more of a limited scope may run
    run_times: RunTimes | None = None  # how long jobs will run, if their order or backfill matters
