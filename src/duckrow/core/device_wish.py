"""What a person wants of a device of the daemon, and which devices get no new job for it."""

from __future__ import annotations

from collections.abc import Mapping

ADD, DRAIN, REMOVE = "add", "drain", "remove"


def drained(wishes: Mapping[str, str]) -> frozenset[str]:
    """One that is to go gets no new job until it has gone. One that is to be added and is there already goes on."""
    return frozenset(device for device, wish in wishes.items() if wish != ADD)
