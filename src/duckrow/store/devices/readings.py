"""The last readings of the GPUs by the hosts, while somebody is looking."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("readings")


class KeptReading(NamedTuple):
    """A GPU as a host last read it."""

    at: float
    mono: float
    told: dict[str, Any]


class ReadingStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def looked_at_until(self) -> float:
        """Until when somebody wants the GPUs to be read, by the monotonic clock; 0: nobody ever did."""
        return float(self._database.one(_SQL["looked_at_until"]) or 0)

    def look_until(self, until_mono: float) -> None:
        with self._database.transaction():
            self._database.execute(_SQL["look_until"], {"until": str(until_mono)})

    def readings(self) -> dict[str, KeptReading]:
        rows = self._database.all(_SQL["readings"])
        return {row["device"]: _kept(row["at"], json.loads(row["reading"])) for row in rows}

    def keep(self, device: str, at: float, reading: Mapping[str, Any]) -> None:
        """Within the caller's transaction."""
        values = {"device": device, "at": at, "reading": json.dumps(reading)}
        self._database.execute(_SQL["keep"], values)

    def forget_all(self) -> None:
        """Within the caller's transaction. The machine was rebooted: earlier readings say nothing."""
        self._database.execute(_SQL["forget_all"])


def _kept(at: float, told: dict[str, Any]) -> KeptReading:
    """A reading written by a host of an older version has no monotonic time."""
    return KeptReading(at, told.get("mono", time.monotonic() - (time.time() - at)), told)
