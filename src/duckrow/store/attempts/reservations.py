"""What attempts hold of devices, and what hosts see of each other's."""

from __future__ import annotations

from duckrow.core.devices.device import Reservations
from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.store.attempts.attempt_key import key_of
from duckrow.store.attempts.reservation_json import reservations_from, text_of
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("reservations")


class ReservationStore:
    def __init__(self, database: Database, host_id: int) -> None:
        self._database = database
        self._host_id = host_id

    def of_other_hosts(self) -> list[Reservations]:
        """What their attempts hold."""
        rows = self._database.execute(_SQL["foreign_holds"], {"host_id": self._host_id})
        return [reservations_from(row[0]) for row in rows]

    def needs_of_other_hosts(self) -> list[Needs]:
        """What their attempts have asked for besides devices."""
        rows = self._database.execute(_SQL["foreign_needs"], {"host_id": self._host_id})
        return [needs_from(row[0]) for row in rows]

    def change(self, attempt: LiveAttempt) -> None:
        """It now holds a different share."""
        self._database.execute(_SQL["set_holds"], {**key_of(attempt), "holds": text_of(attempt.holds)})

    def owe(self, job_id: int, share: int) -> None:
        """Its attempt will need this share of its GPU, and holds less for now. Within the caller's transaction."""
        self._database.execute(_SQL["owe"], {"job_id": job_id, "share": share})

    def owed(self, job_id: int) -> int | None:
        share = self._database.one(_SQL["owed"], {"job_id": job_id})
        return None if share is None else int(share)

    def paid(self, job_id: int) -> None:
        """It has got it, or is gone. Within the caller's transaction."""
        self._database.execute(_SQL["paid"], {"job_id": job_id})
