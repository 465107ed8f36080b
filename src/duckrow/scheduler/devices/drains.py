"""The daemon's devices change while it runs: added, drained, removed."""

from __future__ import annotations

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE, Seat
from duckrow.core.life.wishes import DeviceWish, drained
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.devices.wishes import DeviceWishStore
from duckrow.store.hosts import HostStore
from duckrow.store.sqlite.database import Database


class Drains:
    def __init__(self, state: HostState, database: Database) -> None:
        self._state = state
        self._database = database
        self._wishes = DeviceWishStore(database)

    def observe(self) -> None:
        """Fulfil the wishes that can be fulfilled. A device is removed when its last job has ended."""
        state = self._state
        wishes = self._wishes.all()
        before = state.seats
        for device, wish in wishes.items():
            name = state.gpus.name_of(device) if wish == DeviceWish.ADD else device
            if wish == DeviceWish.ADD:
                if not state.offers(name):
                    state.add_seat(Seat(reservations([(name, WHOLE)])))
                self._wishes.forget(device)
            elif wish == DeviceWish.REMOVE and not (state.offers(name) and state.booked.get(device, 0)):
                if state.offers(name):
                    state.remove_device(device)
                self._wishes.forget(device)
        state.drain(drained(wishes))
        if state.seats is not before:
            self._remember()

    def _remember(self) -> None:
        from duckrow.scheduler.hosts.chosen_devices import choice_of, remember

        HostStore(self._database).change_seats(self._state.host_id, self._state.seats)
        remember(self._database, choice_of(self._state.seats, self._state.gpus.machine.policy))
