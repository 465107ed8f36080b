"""The devices, read once for everybody who looks, with their last minutes."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from typing import Any

from duckrow.api.client import Client
from duckrow.api.devices.cards import DeviceReading, device_cards, latest_readings
from duckrow.api.devices.gpus import GpuView
from duckrow.api.devices.history import device_history, thinned, with_seen
from duckrow.api.queue.job_details import curve_of
from duckrow.core.life.states import LIVE
from duckrow.core.memory.observation import LOOK_S

_FRESH_S = 0.9
_KEPT_S = 6 * 3600.0
MOST_POINTS = 300
_ALL = 100_000
SAMPLE_S = 2.0


class DeviceCache:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = threading.Lock()
        self._cards: tuple[float, dict[str, Any]] | None = None
        self._asked_at = (
            -math.inf,
            -math.inf,
        )  # since when we ask the hosts without a pause, and when we last did
        self._history: dict[str, deque[DeviceReading]] = {}

    def cards(self, client: Client) -> dict[str, Any]:
        """The devices now. If several ask at once, only one reads them."""
        with self._lock:
            if self._cards is None or time.monotonic() - self._cards[0] > _FRESH_S:
                view = self._view(client)
                self._cards = (time.monotonic(), device_cards(client, view))
        self.sample(client)
        return self._cards[1]

    def _view(self, client: Client) -> GpuView:
        """Give a host time to answer if nobody has asked it for a while: it has not failed."""
        now = time.monotonic()
        begin, last = self._asked_at
        self._asked_at = (begin if now - last < LOOK_S else now, now)
        return GpuView(client, patient=self._asked_at[0] == now, asked_since=self._asked_at[0])

    def sample(self, client: Client) -> None:
        """Record what the hosts have read since."""
        readings = latest_readings(client)
        with self._seen:
            for device, reading in readings.items():
                points = self._history.setdefault(device, deque(maxlen=int(_KEPT_S / SAMPLE_S)))
                if not points or reading.at >= points[-1].at + SAMPLE_S / 2:
                    points.append(reading)

    def history(self, client: Client, minutes: float) -> dict[str, Any]:
        """What the hosts have recorded and what was seen in between while somebody looked; few enough for a curve."""
        since = time.time() - minutes * 60
        points = {each["name"]: each["points"] for each in device_history(client, minutes, most_points=_ALL)}
        with self._seen:
            for device, seen in self._history.items():
                fine = [_point(reading) for reading in seen if reading.at >= since]
                points[device] = with_seen(points.get(device, []), fine)
        items = [{"name": device, "points": thinned(points[device], MOST_POINTS)} for device in sorted(points)]
        return {"items": items}

    def curve(self, client: Client, job_id: int, attempt: int | None) -> dict[str, Any]:
        """What an attempt has used: as recorded at its end, or until then as seen while somebody looked."""
        recorded = curve_of(client, job_id, attempt)
        view = client.job(job_id)
        is_live = view.state in LIVE and recorded["attempt"] == view.attempts
        if is_live and not recorded["points"]:
            self.sample(client)
            recorded["points"] = self._seen_of(job_id, view.started_at or 0.0)
        return recorded

    def _seen_of(self, job_id: int, since: float) -> list[dict[str, Any]]:
        """The curve of the GPU where it uses most: a job has one per GPU, and people look at one."""
        with self._seen:
            seen = [
                [point for point in points if point.at >= since and job_id in point.jobs_mb]
                for points in self._history.values()
            ]
        most = max(seen, key=lambda points: max((point.jobs_mb[job_id] for point in points), default=0), default=[])
        step = -(-len(most) // MOST_POINTS) or 1
        return [
            {"at": point.at, "memory_mb": point.jobs_mb[job_id], "utilization": point.utilization}
            for point in most[::step]
        ]


def _point(reading: DeviceReading) -> list[Any]:
    return [reading.at, reading.used_mb, reading.utilization, reading.temperature]
