"""GPU readings over time, for plots: recorded by the hosts that read them, at a bounded size."""

from __future__ import annotations

import math

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Reading
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("device_history")

SLOT_S = 10
_LASTING_SLOTS = 12  # one of this many is kept after the first hour
_FULL_PACE_S, _KEPT_S = 3600, 48 * 3600
_THIN_OUT_S = 600  # how often old readings are thinned out


class Moment(NamedTuple):
    """A GPU at one time."""

    device: str
    at: float
    used_mb: int
    utilization: int | None  # percent
    temperature: int | None  # degrees Celsius


class HistoryWriter:
    """Each call is part of the tick's one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_slot: dict[str, int] = {}  # GPU -> the last slot that we have recorded
        self._thinned_mono = -math.inf

    def note(self, reading: Reading) -> None:
        """Once in ten seconds, however often it is read; a GPU that does not report its memory leaves a gap."""
        slot, last = int(reading.at // SLOT_S), self._last_slot.get(reading.device, 0)
        if slot == last or reading.total_mb is None or reading.free_mb is None:
            return
        self._last_slot[reading.device] = slot
        self._database.execute(
            _SQL["note"],
            {
                "slot": slot,
                "device": reading.device,
                "at": reading.at,
                "used_mb": reading.total_mb - reading.free_mb,
                "utilization": reading.utilization,
                "temperature": reading.temperature,
                "lasting": slot // _LASTING_SLOTS != last // _LASTING_SLOTS,
            },
        )
        if reading.mono - self._thinned_mono > _THIN_OUT_S:
            self._thinned_mono = reading.mono
            self._database.execute(_SQL["thin_out"], {"slot": int((reading.at - _FULL_PACE_S) // SLOT_S)})
            self._database.execute(_SQL["forget"], {"slot": int((reading.at - _KEPT_S) // SLOT_S)})


def moments_since(database: Database, at: float) -> list[Moment]:
    """All GPUs, oldest first."""
    rows = database.all(_SQL["since"], {"slot": int(at // SLOT_S)})
    return [Moment(*row) for row in rows]
