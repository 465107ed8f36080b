"""What people can ask of a job or a device: a front end records the wish, the scheduler fulfils it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Wish(str, Enum):
    """What somebody wants of a job. The values are stored in the database and name files in batch folders."""

    KILL = "kill"
    KILL_NOW = "kill-now"  # without a grace
    RERUN = "rerun"
    SUSPEND = "suspend"  # with the queue or its project
    PAUSE = "pause"  # this job by itself
    CONTINUE = "continue"  # after either of the two
    LEND = "lend"  # its CPU slot, while it waits for other jobs
    TAKE_BACK = "take-back"

    __str__ = str.__str__


class DeviceWish(str, Enum):
    """What somebody wants of a GPU of the daemon."""

    ADD = "add"
    DRAIN = "drain"
    REMOVE = "remove"
    UNDRAIN = "undrain"

    __str__ = str.__str__


def drained(wishes: Mapping[str, str]) -> frozenset[str]:
    """The devices that get no new job: one to be removed, until it is gone, but not one to be added again."""
    return frozenset(device for device, wish in wishes.items() if wish != DeviceWish.ADD)


TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import NewType

    SignalWish = NewType("SignalWish", str)
else:
    SignalWish = str
_SIGNAL = "signal:"


def kill_wish(at_once: bool) -> Wish:
    return Wish.KILL_NOW if at_once else Wish.KILL


def is_kill(wish: str) -> bool:
    return wish in (Wish.KILL, Wish.KILL_NOW)


def signal_wish(number: int) -> SignalWish:
    """Only send this signal; the job keeps running."""
    return SignalWish(f"{_SIGNAL}{number}")


def signal_note(number: int, was_sent: bool) -> str:
    """What the history of a job says about it."""
    return f"signal {number} was sent" if was_sent else f"signal {number} was not sent: no process handles it"


def signal_of(wish: str) -> int | None:
    """The signal that the wish asks for; None: it is not a signal wish."""
    return int(wish.removeprefix(_SIGNAL)) if wish.startswith(_SIGNAL) else None
