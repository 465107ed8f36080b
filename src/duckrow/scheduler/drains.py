"""The daemon's devices change while it runs: added, drained, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.inventory import WHOLE, Seat
from duckrow.core.wishes import DeviceWish, drained

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop


class Drains:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.devices: frozenset[str] = frozenset()  # which get no new job

    def observe(self) -> None:
        """Fulfil what can be fulfilled; a device that is to go, goes when its last job has ended."""
        loop = self._loop
        wishes = loop.store.device_wishes.all()
        changed = False
        for device, wish in wishes.items():
            name = loop.watch.gpus.name_of(device) if wish == DeviceWish.ADD else device
            offered = any(name in seat.devices for seat in loop.seats)
            if wish == DeviceWish.ADD:
                if not offered:
                    loop.seats = [Seat(((name, WHOLE),)), *loop.seats]
                    changed = True
                loop.store.device_wishes.forget(device)
            elif wish == DeviceWish.REMOVE and not (offered and loop.booked.get(device, 0)):
                loop.seats = [seat for seat in loop.seats if device not in seat.devices]
                loop.store.device_wishes.forget(device)
                changed = changed or offered
        self.devices = drained(wishes)
        if changed:
            from duckrow.scheduler.choice import choice_of, remember

            loop.host.rows.change_seats(loop.host.id, loop.seats)
            remember(loop.database, choice_of(loop.seats, loop.watch.gpus.machine.policy))

    def usable(self, seats: list[Seat]) -> list[Seat]:
        if not self.devices:
            return seats
        return [seat for seat in seats if self.devices.isdisjoint(seat.devices)]
