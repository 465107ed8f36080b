"""The GPUs over time: memory, utilisation, temperature."""

from __future__ import annotations

import time
from bisect import bisect
from typing import Any

from duckrow.api.client import Client
from duckrow.store.devices.history import SLOT_S, moments_since

_MOST_POINTS = 300
_NEAR_S = SLOT_S / 2  # a reading this close to a recorded point replaces it


def device_history(client: Client, minutes: float = 10, most_points: int = _MOST_POINTS) -> list[dict[str, Any]]:
    """For each GPU read: {"name": ..., "points": [[at, used_mb, utilization, temperature], ...]}, oldest first.

    There is a point every ten seconds for the last hour, and every two minutes for the last two days. If there are more
    than `most_points`, `thinned` leaves some out.
    """
    points: dict[str, list[list[Any]]] = {}
    for device, *moment in moments_since(client.database, time.time() - minutes * 60):
        points.setdefault(device, []).append(moment)
    names = sorted(points, key=lambda name: (len(name), name))
    return [{"name": name, "points": thinned(points[name], most_points)} for name in names]


def thinned(points: list[list[Any]], most: int) -> list[list[Any]]:
    """Thin out evenly in time, but keep the last point. Where points are dense, more are left out."""
    if len(points) <= most:
        return points
    step_s = (points[-1][0] - points[0][0]) / max(most, 1) or 1.0
    kept: dict[int, list[Any]] = {}
    for point in points:
        kept[int((points[-1][0] - point[0]) / step_s)] = point  # the last of each step
    return list(kept.values())


def with_seen(noted: list[list[Any]], seen: list[list[Any]]) -> list[list[Any]]:
    """The points that a host recorded, with what we saw in between; the latter wins, because it is more detailed."""
    times = [point[0] for point in seen]

    def is_seen(at: float) -> bool:
        place = bisect(times, at)
        return any(abs(near - at) < _NEAR_S for near in times[max(place - 1, 0) : place + 1])

    return sorted([*(point for point in noted if not is_seen(point[0])), *seen], key=lambda point: point[0])
