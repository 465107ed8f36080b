"""Estimates when jobs will be done, from similar jobs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from duckrow.api.devices.out_of_use import out_of_use
from duckrow.api.queue.queue_walk import ExpectedStart, QueueWalk, walk_queue
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
    """How long a run will still take; infinite: nobody knows. `now`: by the wall clock.

    `done`: how many of its jobs have ended. `usual_s`: what those have taken on average, for jobs of which nothing else
    is known; infinite before the first has ended.
    """
    times = run.run_times

    def expected_s(job: QueuedJob) -> float:
        told = times.expected(job) if times else None
        return usual_s if told is None else told.seconds

    running = run.running
    queued = run.waiting if run.starts_more else ()
    waiting = [ExpectedStart(job.id, expected_s(job), max(job.gpus or 1, 1)) for job in queued]
    busy: list[float] = []
    for attempt in running:
        busy += [max(expected_s(attempt.job) - (now - attempt.started_at), 0.0)] * len(attempt.holds)
    if math.inf in [*busy, *(job.expected_s for job in waiting)]:
        return math.inf
    seats = max(run.seat_count, len(busy))  # more where they share GPUs by memory
    ends = walk_queue(seats, busy, waiting, {job.id for job in waiting}).ends_in_s
    mean_s = sum(job.expected_s for job in waiting) / len(waiting) if waiting else usual_s
    more = max(run.added - done - len(running) - len(waiting), 0) if run.starts_more else 0
    return max([*busy, *ends.values()], default=0.0) + (more * mean_s / max(seats, 1) if more else 0.0)


def fill_etas(client: Client, views: Sequence[JobView], owners: Mapping[int, int]) -> None:
    """Set `eta_s` of running and queued jobs, where it is known. `owners`: the host of each job that still exists."""
    active = [view for view in views if view.state != "done"]
    if active and AnswerStore(client.database).any_succeeded():
        (client.etas or SharedEtas()).fill(client, active, owners)


class SharedEtas:
    """Estimates for several threads that list jobs again and again: worked out once in a while, for all of them."""

    def __init__(self, good_for_s: float = 0.0) -> None:
        self._good_for_s = good_for_s
        self._lock = threading.Lock()  # who waits for it would have to work out the same
        self._latest: Etas | None = None
        self._forgotten_mono = 0.0

    def fill(self, client: Client, active: Sequence[JobView], owners: Mapping[int, int]) -> None:
        with self._lock:
            if self._latest is None or not self._is_good(self._latest):
                self._latest = Etas(client)
            self._latest.fill(client, active, owners)

    def _is_good(self, etas: Etas) -> bool:
        is_fresh = time.monotonic() - etas.made_mono < self._good_for_s
        return is_fresh and etas.made_mono > self._forgotten_mono

    def forget(self) -> None:
        """Somebody has changed jobs, and wants to see what follows. Whoever says so need not wait for the lock."""
        self._forgotten_mono = time.monotonic()


class Etas:
    """What is expected at one moment. Each queue is read as far as somebody asks for."""

    def __init__(self, client: Client) -> None:
        self.made_mono = time.monotonic()
        self._learned = run_times_of(client)
        self._queues: dict[tuple[int, bool], _QueueEnds] = {}  # by host, and whether it is the one beside the GPUs

    def fill(self, client: Client, active: Sequence[JobView], owners: Mapping[int, int]) -> None:
        times = ExpectedTimes(self._learned)
        live = {row.job_id: row for row in client.jobs.live()}
        for view in active:
            if view.state not in ("starting", "running") or view.suspended:
                continue
            shown = ShownJob(view.project, view.name, view.command, view.cwd, view.sweep)
            expected = times.seconds(live.get(view.id, shown))
            if expected is not None:
                view.eta_s = max(expected - (view.duration_s or 0.0), 0.0)
        waiting = [view for view in active if view.state == "queued" and not view.held and view.id in owners]
        if not waiting or "" in client.jobs.pauses():
            return
        for host_id in {owners[view.id] for view in waiting}:
            self._fill_waiting(client, times, host_id, [view for view in waiting if owners[view.id] == host_id])

    def _fill_waiting(self, client: Client, times: ExpectedTimes, host_id: int, views: Sequence[JobView]) -> None:
        """CPU slots beside GPUs are only for jobs that need no GPU, so they have a queue of their own."""
        if not is_alive(client.folder, host_id):
            return
        unused = out_of_use(client.database, host_id)
        seats = [seat for seat in seats_from(client.hosts.get(host_id).seats) if unused.isdisjoint(seat.devices)]
        has_side = any(seat.side for seat in seats)
        for side in {has_side and view.gpus == 0 for view in views}:
            of_side = [view for view in views if (has_side and view.gpus == 0) == side]
            ends = self._queues.get((host_id, side))
            if ends is None or not ends.tells_of(of_side):
                seats_of_side = [seat for seat in seats if seat.side == side]
                wanted = {view.id for view in of_side}
                walk = _walk_of_host(client, times, host_id, seats_of_side, side if has_side else None, wanted)
                ends = self._queues[host_id, side] = _QueueEnds(time.monotonic(), walk)
            for view in of_side:
                view.eta_s = ends.eta_s(view)


class _QueueEnds(NamedTuple):
    """When the jobs of a queue will be done, as it was seen at a moment."""

    seen_mono: float
    walk: QueueWalk

    def tells_of(self, views: Iterable[JobView]) -> bool:
        return self.walk.is_complete or all(view.id in self.walk.ends_in_s for view in views)

    def eta_s(self, view: JobView) -> float | None:
        ends_in_s = self.walk.ends_in_s.get(view.id)
        return None if ends_in_s is None else max(ends_in_s - (time.monotonic() - self.seen_mono), 0.0)


def _walk_of_host(
    client: Client, times: ExpectedTimes, host_id: int, seats: Sequence[Seat], side: bool | None, wanted: set[int]
) -> QueueWalk:
    """`side`: only jobs that need no GPU, or only those that do; None: all."""
    all_waiting = WaitingStore(client.database).queue_of_host(host_id, _AHEAD)
    queue = (row for row in all_waiting if side is None or (row.gpus == 0) == side)
    # All hosts share the GPUs. Each host has its own CPU slots, though they have the same names.
    live = [row for row in client.jobs.live() if row.job_host_id == host_id or only_gpus(row.holds)]
    return _walk_to_seats(times, seats, live, client.jobs.suspended(), queue, wanted)


def _walk_to_seats(
    times: ExpectedTimes,
    seats: Sequence[Seat],
    live: Iterable[LiveJob],
    suspended: Collection[int],
    queue: Iterable[JobInQueue],
    wanted: set[int],
) -> QueueWalk:
    """Nobody knows when a suspended job will end."""
    if not seats:
        return QueueWalk({}, is_complete=True)
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
    return walk_queue(len(seats), busy, waiting, wanted)
