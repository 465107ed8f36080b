"""Devices that get no new job: drained by a user, or set aside."""

from __future__ import annotations

from duckrow.core.life import wishes
from duckrow.store.devices.set_aside import SetAsideStore
from duckrow.store.devices.wishes import DeviceWishStore
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.session import Session


def drained(database: Database, host_id: int) -> frozenset[str]:
    """Drained by a user; only the daemon's devices can be."""
    return wishes.drained(DeviceWishStore(database).all() if host_id == DAEMON else {})


def set_aside(database: Database, *host_ids: int) -> dict[str, str]:
    """Each GPU that one of these hosts has set aside, and why."""
    return {device: why for (device, _), why in SetAsideStore(database).of_hosts(host_ids).items()}


def set_aside_by_living(session: Session) -> dict[str, str]:
    """Each GPU that a live host has set aside, and why."""
    return set_aside(session.database, *(host.id for host in session.living_hosts()))


def out_of_use(database: Database, host_id: int) -> frozenset[str]:
    return drained(database, host_id) | set_aside(database, host_id).keys()
