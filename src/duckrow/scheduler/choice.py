"""The devices that people gave the daemon, kept over restarts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from duckrow.core.inventory import Seat
from duckrow.core.machine import DISPLAYS, Policy, parse_names
from duckrow.store.database import Database
from duckrow.store.hosts import keep_devices, kept_devices


@dataclass(slots=True)
class DeviceChoice:
    devices: list[str]
    slots: int | None
    jobs_per_gpu: int
    by_default: bool = False  # the settings chose: holds only where nothing is remembered, and is not remembered
    min_free_gpus: int = 0
    max_gpus: int | None = None
    prefer: str = ""
    only_idle_gpus: bool = False
    mem_margin: int | None = None
    mps: str = "auto"
    ignore: str | None = None  # None: the programs that draw the desktop
    share_gpus: bool = False

    @property
    def is_explicit(self) -> bool:
        if self.by_default:
            return False
        return bool(self.devices) or self.slots is not None or self.jobs_per_gpu != 1 or self.policy != Policy()

    @property
    def policy(self) -> Policy:
        return Policy(
            self.min_free_gpus,
            self.max_gpus,
            parse_names(self.prefer),
            None,
            self.only_idle_gpus,
            self.mem_margin,
            self.mps,
            DISPLAYS if self.ignore is None else parse_names(self.ignore),
            self.share_gpus,
        )

    def words(self) -> list[str]:
        words = ["--jobs-per-gpu", str(self.jobs_per_gpu)]
        words += ["--slots", str(self.slots)] if self.slots is not None else []
        words += ["--by-default"] if self.by_default else []
        words += ["--min-free-gpus", str(self.min_free_gpus)] if self.min_free_gpus else []
        words += ["--max-gpus", str(self.max_gpus)] if self.max_gpus is not None else []
        words += ["--prefer", self.prefer] if self.prefer else []
        words += ["--only-idle-gpus"] if self.only_idle_gpus else []
        words += ["--mem-margin", str(self.mem_margin)] if self.mem_margin is not None else []
        words += ["--mps", self.mps] if self.mps != "auto" else []
        words += ["--ignore-processes", self.ignore] if self.ignore is not None else []
        words += ["--share-gpus"] if self.share_gpus else []
        return words + [word for device in self.devices for word in ("--devices", device)]


def choice_of(seats: Sequence[Seat]) -> DeviceChoice:
    """The choice that gives these seats again."""
    gpus = ["+".join(seat.devices) for seat in seats if not seat.is_cpu]
    return DeviceChoice(gpus, sum(seat.is_cpu for seat in seats) or None, 1)


def remember(database: Database, choice: DeviceChoice) -> None:
    """Within the caller's transaction."""
    keep_devices(database, json.dumps(asdict(choice)))


def keep(database: Database, choice: DeviceChoice) -> None:
    """Remember what a person has chosen; what the settings say they say again."""
    if choice.is_explicit:
        with database.transaction():
            remember(database, choice)


def remembered(database: Database, choice: DeviceChoice) -> DeviceChoice:
    """What is chosen now, else what was: a daemon that comes back does not take more than it was given."""
    if choice.is_explicit:
        return choice
    kept = kept_devices(database)
    if not kept:
        return choice
    known = json.loads(kept)
    known["devices"] = known.pop("gpus", known.get("devices"))  # what they were called before
    return DeviceChoice(**known)
