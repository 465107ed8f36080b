"""GPUs that are set aside because something is wrong with them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from duckrow.core.devices.set_aside import SetAside
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.devices.gpu_suspicion import Suspect

_SQL = load_queries("set_aside")


class SetAsideStore:
    """Within the caller's transaction, except `of_hosts` and `want_back`."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def of_host(self, host_id: int) -> list[SetAside]:
        rows = self.database.execute(_SQL["of_host"], {"host_id": host_id})
        return [
            SetAside(
                row["device"],
                row["why"],
                row["boot_id"],
                _suspect(row["suspicion"]),
                bool(row["passes"]),
                bool(row["wanted_back"]),
            )
            for row in rows
        ]

    def of_hosts(self, host_ids: Iterable[int]) -> dict[tuple[str, int], str]:
        """(GPU, host) -> why, for those that nobody wants back."""
        rows = ((host_id, self.database.all(_SQL["of_host"], {"host_id": host_id})) for host_id in host_ids)
        return {
            (row["device"], host_id): row["why"] for host_id, found in rows for row in found if not row["wanted_back"]
        }

    def save(self, host_id: int, gpu: SetAside) -> None:
        suspicion = None if gpu.suspect is None else _text(gpu.suspect)
        values = {"device": gpu.device, "why": gpu.why, "boot_id": gpu.boot_id, "passes": gpu.passes}
        more = {"host_id": host_id, "at": time.time(), "suspicion": suspicion}
        self.database.execute(_SQL["save"], {**values, **more})

    def forget(self, host_id: int, device: str) -> None:
        self.database.execute(_SQL["forget"], {"host_id": host_id, "device": device})

    def want_back(self, host_ids: Iterable[int], device: str) -> bool:
        """A person wants it to be used again; returns whether any of these hosts has set it aside."""
        with self.database.transaction():
            keys = [{"host_id": host_id, "device": device} for host_id in host_ids]
            return sum(self.database.execute(_SQL["want_back"], key).rowcount for key in keys) > 0

    def ends(self, job_ids: Iterable[int]) -> dict[int, tuple[str, str | None]]:
        """(state, outcome) of the jobs that still exist."""
        rows = self.database.execute(_SQL["ends"], {"ids": json.dumps(sorted(job_ids))})
        return {row["id"]: (row["state"], row["outcome"]) for row in rows}


def _text(suspect: Suspect) -> str:
    return json.dumps({"failures": suspect.failures, "tried": suspect.tried, "open": sorted(suspect.open)})


def _suspect(text: str | None) -> Suspect | None:
    if text is None:
        return None
    from duckrow.core.devices.gpu_suspicion import Failure, Suspect

    told = json.loads(text)
    return Suspect([Failure(*failure) for failure in told["failures"]], told["tried"], set(told["open"]))
