"""How long jobs will take, judged by how long their like have taken."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from duckrow.store.answers import AnswerStore
from duckrow.store.hosts import is_alive, seats_from

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.views import JobView

_LOOKED_AT = 5_000  # attempts that succeeded, of all jobs together
_OF_A_KIND = 20  # of these, the newest of the same project and name
_AHEAD = 10_000  # jobs of a queue that are looked at; of those behind them nothing is said


class Waiting(NamedTuple):
    id: int
    expected_s: float  # infinite: nobody knows
    seats: int  # how many it takes


class History:
    """What is expected of a job: the median of the latest attempts that succeeded under its project and name."""

    def __init__(self, durations: Iterable[tuple[str, str, float]]) -> None:
        """(project, name, seconds), newest first."""
        self._taken: dict[tuple[str, str], list[float]] = {}
        for project, name, duration_s in durations:
            taken = self._taken.setdefault((project, name), [])
            if len(taken) < _OF_A_KIND:
                taken.append(duration_s)
        self._expected: dict[tuple[str, str], float | None] = {}

    def expected_s(self, project: str, name: str) -> float | None:
        key = (project, name)
        if key not in self._expected:
            self._expected[key] = median(self._taken.get(key, ()))
        return self._expected[key]

    def __bool__(self) -> bool:
        return bool(self._taken)


def median(values: Sequence[float]) -> float | None:
    """The standard library's takes longer to load than a listing to print."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def history_of(client: Client) -> History:
    rows = AnswerStore(client.database).durations(_LOOKED_AT)
    return History((row["project"], row["name"], row["duration_s"]) for row in rows)


def fill_etas(client: Client, views: Sequence[JobView], owners: Mapping[int, int]) -> None:
    """Set `eta_s` of those that run or wait, where it can be known. `owners`: the host of each."""
    active = [view for view in views if view.state != "done"]
    history = history_of(client) if active else None
    if not history:
        return
    for view in active:
        expected = history.expected_s(view.project, view.name)
        if view.state in ("starting", "running") and expected is not None:
            view.eta_s = max(expected - (view.duration_s or 0.0), 0.0)
    waiting = {view.id: view for view in active if view.state == "queued"}
    if not waiting or "" in client.jobs.pauses():
        return
    for host_id in {owners[job_id] for job_id in waiting}:
        ids = {job_id for job_id in waiting if owners[job_id] == host_id}
        for job_id, ends_in_s in _ends_on_host(client, history, host_id, ids).items():
            waiting[job_id].eta_s = ends_in_s


def _ends_on_host(client: Client, history: History, host_id: int, wanted: set[int]) -> dict[int, float]:
    seats = seats_from(client.hosts.get(host_id).seats)
    if not seats or not is_alive(client.folder, host_id):
        return {}
    now = time.time()
    devices_per_seat = max(max(seat.gpu_count for seat in seats), 1)

    def expected_s(project: str, name: str) -> float:
        known = history.expected_s(project, name)
        return math.inf if known is None else known

    busy = [
        max(expected_s(row["project"], row["name"]) - (now - row["started_at"]), 0.0)
        for row in client.jobs.live()
        if row["job_host_id"] == host_id
    ]
    queue = (
        Waiting(row["id"], expected_s(row["project"], row["name"]), math.ceil((row["gpus"] or 1) / devices_per_seat))
        for row in AnswerStore(client.database).queue_of_host(host_id, _AHEAD)
    )
    return expected_ends(len(seats), busy, queue, wanted)


def expected_ends(seats: int, busy: Sequence[float], queue: Iterable[Waiting], wanted: set[int]) -> dict[int, float]:
    """In how many seconds each wanted job will have ended, if jobs start in order as seats become free.

    `busy`: how long each running job still goes on. What nobody knows is left out.
    """
    free_in = [*busy, *[0.0] * (seats - len(busy))]
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
