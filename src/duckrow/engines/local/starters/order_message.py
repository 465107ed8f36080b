"""The messages from a host to a starter: orders, with what their environments share."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import StartOrder

LONGEST_MESSAGE = 64 << 10
"""Bytes of its orders and environments, unless a single order has more. What does not fit the host starts itself."""

Variables = dict[bytes, bytes]

_NO_TIME = Now(0.0, 0.0, 0.0)  # the starter writes down its own


class Message(NamedTuple):
    recalls: int  # how often the host had taken orders back when it sent this: later, these orders are void
    environments: Mapping[int, Variables]  # those that were not in an earlier message
    orders: Iterable[StartOrder]


def packed(recalls: int, environments: Mapping[int, Variables], orders: Iterable[bytes]) -> bytes:
    return marshal.dumps((recalls, dict(environments), list(orders)))


def packed_order(order: StartOrder) -> bytes | None:
    """None: it does not fit."""
    attempt = order.attempt
    of_attempt = (attempt.number, tuple(attempt.job), attempt.keeper, attempt.log, attempt.job_host_id)
    data = marshal.dumps((of_attempt, order.folder, order.extra_environment, order.gentle_environment))
    return data if len(data) <= LONGEST_MESSAGE else None


def size_of(variables: Variables) -> int:
    return sum(map(len, variables)) + sum(map(len, variables.values()))


def fits(variables: Variables) -> bool:
    return size_of(variables) <= LONGEST_MESSAGE // 2


def unpacked(data: bytes) -> Message:
    recalls, environments, orders = marshal.loads(data)
    return Message(recalls, environments, map(_order_in, orders))


def _order_in(data: bytes) -> StartOrder:
    (number, job, keeper, log, host_id), folder, extra, gentle = marshal.loads(data)
    holds = ()  # what it runs on is told by its environment
    attempt = LiveAttempt(number, QueuedJob._make(job), keeper, holds, _NO_TIME, log, host_id)
    return StartOrder(attempt, folder, extra, gentle)
