"""In which order jobs that came together start, once it is known how long they run.

Long jobs that start last stick out at the end, and long jobs that start first make all others wait. So some short jobs
go first, then the others, the longest first. Both times, jobs that take much of a GPU go before those that take little:
these fit in beside others, and are missed at the end if only large ones are left, which cannot share a GPU. Among the
long ones, this counts more than the time.

How many short ones: as few as it takes for the jobs to wait no longer, on average, than in the order in which they
came, according to a forecast. Only if the batch ends clearly sooner may they wait longer, and by no greater share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from duckrow.core.protocol import Protocol
from duckrow.core.schedule.backfill import TOGETHER_S, Comer
from duckrow.core.schedule.forecast import BusyDevices, ExpectedLoad, Forecast, forecast

_CLEARLY = 0.1
_SHORT_FIRST = (*(number / 40 for number in range(13)), 0.35, 0.4, 0.5)  # which share of the jobs
_SIZE_COUNTS = 3  # times as much as the time: that a job takes a large share of a GPU


class BatchComer(Comer, Protocol):
    @property
    def project(self) -> str: ...


def batch_length(queue: Sequence[BatchComer]) -> int:
    """How many of the first jobs of a queue came together, so that their order does not matter to anybody.

    They have one priority and project, and nobody has moved one of them ahead of another.
    """
    first = queue[0]
    for number, job in enumerate(queue[1:], start=1):
        together = job.created_at <= first.created_at + TOGETHER_S and job.id > queue[number - 1].id
        if not together or job.priority != first.priority or job.project != first.project:
            return number
    return len(queue)


def best_order(
    came: Sequence[ExpectedLoad], free: Sequence[int], busy: Sequence[BusyDevices]
) -> Sequence[ExpectedLoad]:
    """`came`: the jobs of a batch, in the order in which they came. They keep it if no other order is better."""
    in_turn = forecast(came, free, busy)
    for order in _orders(came):
        told = forecast(order, free, busy)
        if told.ends_s <= in_turn.ends_s and told.waits_s <= _may_wait_s(in_turn, told):
            return order
    return came


def _may_wait_s(in_turn: Forecast, told: Forecast) -> float:
    sooner = 1 - told.ends_s / in_turn.ends_s if in_turn.ends_s else 0.0
    return in_turn.waits_s * (1 + max(sooner - _CLEARLY, 0.0))


def _orders(loads: Sequence[ExpectedLoad]) -> Iterator[list[ExpectedLoad]]:
    """The one that should end soonest comes first."""
    short = sorted(loads, key=lambda load: load.seconds * load.devices / load.share)
    for share in _SHORT_FIRST:
        first = int(share * len(short))
        yield short[:first] + sorted(
            short[first:], key=lambda load: load.seconds * load.share**_SIZE_COUNTS, reverse=True
        )
