"""The devices that you chose for the daemon, kept when it restarts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.policy import NO_POLICY, Policy
from duckrow.devices.discover import cores
from duckrow.store.hosts import keep_devices, kept_devices
from duckrow.store.sqlite.database import Database


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    devices: Sequence[str] = ()
    slots: int | None = None
    jobs_per_gpu: int = 1
    by_default: bool = False  # from the settings: used only if nothing is remembered, and not remembered itself
    policy: Policy = NO_POLICY

    @property
    def is_explicit(self) -> bool:
        if self.by_default:
            return False
        return bool(self.devices) or self.slots is not None or self.jobs_per_gpu != 1 or self.policy != NO_POLICY

    def words(self) -> list[str]:
        words = ["--jobs-per-gpu", str(self.jobs_per_gpu)]
        words += ["--slots", str(self.slots)] if self.slots is not None else []
        words += ["--by-default"] if self.by_default else []
        words += self.policy.as_options()
        return words + [word for device in self.devices for word in ("--devices", device)]


def choice_of(seats: Sequence[Seat], policy: Policy) -> DeviceChoice:
    """The choice that gives these seats again."""
    gpus = ["+".join(seat.devices) for seat in seats if not seat.is_cpu]
    return DeviceChoice(gpus, sum(seat.is_cpu for seat in seats) or None, policy=policy)


def remember(database: Database, choice: DeviceChoice) -> None:
    """Within the caller's transaction."""
    known = {
        "devices": list(choice.devices),
        "slots": choice.slots,
        "jobs_per_gpu": choice.jobs_per_gpu,
        "policy": choice.policy.as_json(),
    }
    keep_devices(database, json.dumps(known))


def keep(database: Database, choice: DeviceChoice) -> None:
    """Remember what a person chose. Settings need not be remembered: they are read again."""
    if choice.is_explicit:
        with database.transaction():
            remember(database, choice)


def remembered(database: Database, choice: DeviceChoice) -> DeviceChoice:
    """The present choice, else the remembered one: a daemon that restarts does not use more than it was given."""
    if choice.is_explicit:
        return choice
    kept = kept_devices(database)
    return choice_from(json.loads(kept)) if kept else choice


def no_longer_chosen(database: Database, choice: DeviceChoice) -> list[str]:
    """The options that were chosen before and are not named now, as words of a command line: they are given up."""
    earlier = remembered(database, DeviceChoice())
    before = _options(earlier)
    if choice.devices and earlier.slots == cores():
        before.pop("--slots", None)  # beside GPUs, there are as many in any case
    return [word for option, words in before.items() if option not in _options(choice) for word in words]


def _options(choice: DeviceChoice) -> dict[str, list[str]]:
    """Those that are not as they are by default, each with all its words."""
    options: dict[str, list[str]] = {}
    for word in choice.words():
        if word.startswith("--"):
            option = word
        options.setdefault(option, []).append(word)
    if choice.jobs_per_gpu == 1:
        del options["--jobs-per-gpu"]
    return options


def choice_from(known: Mapping[str, Any]) -> DeviceChoice:
    """Older versions wrote the options of the policy beside the devices, which they called `gpus` at first."""
    if "policy" in known:
        policy = Policy.of_json(known["policy"])
    else:
        policy = Policy.of_options({**known, "ignore_processes": known.get("ignore")})
    devices = known.get("devices", known.get("gpus", []))
    return DeviceChoice(devices, known["slots"], known["jobs_per_gpu"], policy=policy)
