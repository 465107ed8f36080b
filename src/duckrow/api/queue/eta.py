"""Estimates how long jobs will take from similar jobs."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from duckrow.api.devices.out_of_use import out_of_use
from duckrow.core.devices.device import only_gpus
from duckrow.core.devices.inventory import Seat
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.hosts import is_alive, seats_from
from duckrow.store.jobs.answers import AnswerStore
from duckrow.store.jobs.listed_job import LiveJob
from duckrow.store.jobs.waiting import JobInQueue, WaitingStore

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Protocol

    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView
    from duckrow.core.jobs.job import QueuedJob
    from duckrow.core.ports import Progress
    from duckrow.core.schedule.run_times import RunTimes, TimedJob

    class AskedJob(TimedJob, Protocol):
        @property
        def sweep(self) -> str | None: ...


_LOOKED_AT = 5_000  # successful attempts, over all jobs
_TAKEN_APART = 500  # commands
_AHEAD = 10_000  # jobs of a queue that are looked at; those behind them get no ETA


class ShownJob(NamedTuple):
    """A job as lists show it: what it needs is not among that."""

    project: str
    name: str
    command: str
    cwd: str
    sweep: str | None = None
    needs: str | None = None


class ExpectedStart(NamedTuple):
    id: int
    expected_s: float  # infinite: unknown
    seats: int  # how many it takes


class ExpectedTimes:
    """What is known about run times, for a long queue: to take every command apart would take seconds."""

    def __init__(self, times: RunTimes) -> None:
        self._times = times
        self._sums: dict[str, tuple[float, int]] = {}  # by name: seconds and number of the jobs that were asked about
        self._asked = 0

    def seconds(self, job: AskedJob) -> float | None:
        """Of jobs far behind in a queue: what those of their name before them take on average."""
        total_s, count = self._sums.get(job.sweep or job.name, (0.0, 0))
        if self._asked >= _TAKEN_APART and count:
            return total_s / count
        told = self._times.expected(job, job.sweep)
        self._asked += 1
        if told is None:
            return None
        self._sums[job.sweep or job.name] = (total_s + told.seconds, count + 1)
        return told.seconds


def run_times_of(client: Client) -> RunTimes:
    return AnswerStore(client.database).run_times(_LOOKED_AT)


def run_left_s(run: Progress, done: int, usual_s: float, now: float) -> float:
    """How long a run will still take. `done`: how many of its jobs have ended. `now`: by the wall clock.

    `usual_s`: what those have taken on average, for jobs of which nothing is known.
    """
    times = run.run_times

    def expected_s(job: QueuedJob) -> float:
        told = times.expected(job) if times else None
        return usual_s if told is None else told.seconds

    running, waiting = (
        run.running,
        [ExpectedStart(job.id, expected_s(job), max(job.gpus or 1, 1)) for job in run.waiting],
    )
    busy: list[float] = []
    for attempt in running:
        busy += [max(expected_s(attempt.job) - (now - attempt.started_at), 0.0)] * len(attempt.holds)
    seats = max(run.seat_count, len(busy))  # more where they share GPUs by memory
    ends = expected_ends(seats, busy, waiting, {job.id for job in waiting})
    mean_s = sum(job.expected_s for job in waiting) / len(waiting) if waiting else usual_s
    more = max(run.added - done - len(running) - len(waiting), 0)
    return max([*busy, *ends.values()], default=0.0) + more * mean_s / max(seats, 1)


def fill_etas(client: Client, views: Sequence[JobView], owners: Mapping[int, int]) -> None:
    """Set `eta_s` of running and queued jobs, where it is known. `owners`: the host of each job that still exists."""
    active = [view for view in views if view.state != "done"]
    learned = run_times_of(client) if active and AnswerStore(client.database).any_succeeded() else None
    if not learned:
        return
    times = ExpectedTimes(learned)
    live = {row.job_id: row for row in client.jobs.live()}
    for view in active:
        if view.state not in ("starting", "running") or view.suspended:
            continue
        shown = ShownJob(view.project, view.name, view.command, view.cwd, view.sweep)
        expected = times.seconds(live.get(view.id, shown))
        if expected is not None:
            view.eta_s = max(expected - (view.duration_s or 0.0), 0.0)
    waiting = {view.id: view for view in active if view.state == "queued" and view.id in owners}
    if not waiting or "" in client.jobs.pauses():
        return
    for host_id in {owners[job_id] for job_id in waiting}:
        of_host = [view for view in waiting.values() if owners[view.id] == host_id]
        for job_id, ends_in_s in _ends_on_host(client, times, host_id, of_host).items():
            waiting[job_id].eta_s = ends_in_s


def _ends_on_host(client: Client, times: ExpectedTimes, host_id: int, wanted: Sequence[JobView]) -> dict[int, float]:
    """CPU slots beside GPUs are only for jobs that need no GPU, so they have a queue of their own."""
    if not is_alive(client.folder, host_id):
        return {}
    unused = out_of_use(client.database, host_id)
    seats = [seat for seat in seats_from(client.hosts.get(host_id).seats) if unused.isdisjoint(seat.devices)]
    has_side = any(seat.side for seat in seats)
    ends: dict[int, float] = {}
    for side in {has_side and view.gpus == 0 for view in wanted}:
        ids = {view.id for view in wanted if (has_side and view.gpus == 0) == side}
        all_waiting = WaitingStore(client.database).queue_of_host(host_id, _AHEAD)
        queue = (row for row in all_waiting if (has_side and row.gpus == 0) == side)
        # All hosts share the GPUs. Each host has its own CPU slots, though they have the same names.
        live = [row for row in client.jobs.live() if row.job_host_id == host_id or only_gpus(row.holds)]
        of_side = [seat for seat in seats if seat.side == side]
        ends.update(_ends_on_seats(times, of_side, live, client.jobs.suspended(), queue, ids))
    return ends


def _ends_on_seats(
    times: ExpectedTimes,
    seats: Sequence[Seat],
    live: Iterable[LiveJob],
    suspended: Collection[int],
    queue: Iterable[JobInQueue],
    wanted: set[int],
) -> dict[int, float]:
    """Nobody knows when a suspended job will end."""
    if not seats:
        return {}
    now = time.time()
    devices_per_seat = max(max(seat.gpu_count for seat in seats), 1)
    devices = {device for seat in seats for device in seat.devices}

    def expected_s(row: LiveJob | JobInQueue) -> float:
        known = times.seconds(row)
        return math.inf if known is None else known

    busy: list[float] = []
    for row in live:
        held = devices.intersection(device for device, _ in row.holds)
        left_s = math.inf if row.job_id in suspended else max(expected_s(row) - (now - row.started_at), 0.0)
        busy += [left_s] * math.ceil(len(held) / devices_per_seat)
    waiting = (ExpectedStart(row.id, expected_s(row), math.ceil((row.gpus or 1) / devices_per_seat)) for row in queue)
    return expected_ends(len(seats), busy, waiting, wanted)


def expected_ends(
    seats: int, busy: Sequence[float], queue: Iterable[ExpectedStart], wanted: set[int]
) -> dict[int, float]:
    """In how many seconds each wanted job will have ended, if jobs start in order as seats become free.

    `busy`: how long running jobs will go on, once for each seat. Other hosts may use our GPUs too, so there may be more
    of these than seats. Jobs without a known end are left out.
    """
    free_in = [*sorted(busy)[-seats:], *[0.0] * (seats - len(busy))]
    heapq.heapify(free_in)
    ends: dict[int, float] = {}
    left = set(wanted)
    for job in queue:
        taken = [heapq.heappop(free_in) for _ in range(min(max(job.seats, 1), len(free_in)))]
        end = taken[-1] + job.expected_s
        for _ in taken:
            heapq.heappush(free_in, end)
        if job.id in left:
            left.remove(job.id)
            if end < math.inf:
                ends[job.id] = end
        if not left or free_in[0] == math.inf:
            break
    return ends
