"""How the GPUs were over time: memory, utilisation, temperature."""

from __future__ import annotations

import time
from typing import Any

from duckrow.api.client import Client
from duckrow.store.device_history import moments_since

_MOST_POINTS = 300


def device_history(client: Client, minutes: float = 10, most_points: int = _MOST_POINTS) -> list[dict[str, Any]]:
    """Of each GPU that was read: {"name": ..., "points": [[at, used_mb, utilization, temperature], ...]}, oldest first.

    There is a point in ten seconds of the last hour, and one in two minutes of the last two days; of more than
    `most_points` some are left out evenly, never the last.
    """
    points: dict[str, list[list[Any]]] = {}
    for device, *moment in moments_since(client.database, time.time() - minutes * 60):
        points.setdefault(device, []).append(moment)
    names = sorted(points, key=lambda name: (len(name), name))
    return [{"name": name, "points": _thinned(points[name], most_points)} for name in names]


def _thinned(points: list[list[Any]], most: int) -> list[list[Any]]:
    step = -(-len(points) // max(most, 1))
    return points[::-1][:: max(step, 1)][::-1]
