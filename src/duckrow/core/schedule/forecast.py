"""When waiting jobs would start and end, in a given order, if each runs as long as expected."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple


class ExpectedLoad(NamedTuple):
    """A waiting job, as far as a forecast goes."""

    id: int
    seconds: float
    devices: int
    share: int  # of each device, in millionths
    passes: bool  # it shares devices by memory, so it and others that do may overtake each other


class BusyDevices(NamedTuple):
    """A running job: for how long it will go on, and what it then gives back of which devices (by number)."""

    left_s: float
    devices: Sequence[int]
    share: int


class Forecast(NamedTuple):
    ends_s: float  # until the last one ends, from now
    waits_s: float  # of all together, from now


def forecast(order: Sequence[ExpectedLoad], free: Sequence[int], busy: Sequence[BusyDevices]) -> Forecast:
    """`free`: of each device, in millionths. Jobs go where most is left, and start in order as devices become free."""
    room = list(free)
    ends = [(each.left_s, number, each.devices, each.share) for number, each in enumerate(busy)]
    heapq.heapify(ends)
    last = max((end for end, *_ in ends), default=0.0)
    now = waits = 0.0
    waiting = list(order)
    numbers = len(ends)
    while waiting:
        started, waiting = _start(waiting, room)
        for load, devices in started:
            numbers += 1
            heapq.heappush(ends, (now + load.seconds, numbers, devices, load.share))
            waits += now
            last = max(last, now + load.seconds)
        if not ends:
            break  # none of them fits, even where nothing runs
        if waiting:
            now = ends[0][0]
            while ends and ends[0][0] <= now:
                _, _, given_back, share = heapq.heappop(ends)
                for device in given_back:
                    room[device] += share
    return Forecast(last, waits)


_Started = list[tuple[ExpectedLoad, list[int]]]


def _start(waiting: list[ExpectedLoad], room: list[int]) -> tuple[_Started, list[ExpectedLoad]]:
    """Which start now, where, and which still wait."""
    started: _Started = []
    left: list[ExpectedLoad] = []
    most = _most(room)
    for number, load in enumerate(waiting):
        count, share = load.devices, load.share
        if count > len(room) or share > most[count]:
            left.append(load)
            if not load.passes:
                return started, left + waiting[number + 1 :]
            continue
        fitting = [(space, device) for device, space in enumerate(room) if space >= share]
        if len(fitting) > count:
            fitting.sort(reverse=True)
        chosen = [device for _, device in fitting[:count]]
        for device in chosen:
            room[device] -= share
        most = _most(room)
        started.append((load, chosen))
    return started, left


def _most(room: list[int]) -> list[int]:
    """By number of devices: the largest share that this number of devices has free."""
    return [0, *sorted(room, reverse=True)]
