"""Which devices get no new job because a person wants something of them."""

from __future__ import annotations

from collections.abc import Mapping

ADD = "add"


def drained(wishes: Mapping[str, str]) -> frozenset[str]:
    """One that is to go gets no new job until it has gone. One that is to be added and is there already goes on."""
    return frozenset(device for device, wish in wishes.items() if wish != ADD)
