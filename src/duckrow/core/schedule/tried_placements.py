"""Placement within one tick: if something did not fit, a job that asks for as much or more is not tried."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.devices.device import Reservations
from duckrow.core.devices.inventory import Ledger, Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.schedule.placement import over_the_machine, place, refusal


class Trials:
    """Remembers what did not fit. Only packed jobs need this: of other jobs, the first that waits ends the search.

    Devices only fill up while we decide a tick. So what did not fit still does not fit, and a job that asks for more
    GPUs or more memory does not fit either.
    """

    def __init__(self, seats: Sequence[Seat], booked: Ledger, machine: Machine) -> None:
        self.seats, self.booked, self.machine = seats, booked, machine
        self._in_vain: dict[int, int] = {}  # number of GPUs -> the least memory of each that was not there
        self._possible: dict[int, int] = {}  # number of GPUs -> the most that an empty machine is known to have

    def place(self, ask: Ask) -> Reservations | None:
        if ask.mb is None or not is_packed(ask) or ask.together is not None:  # that may be why it was in vain
            return place(ask, self.seats, self.booked, self.machine)
        wanted = ask.gpus or 1
        if any(gpus <= wanted and mb <= ask.mb for gpus, mb in self._in_vain.items()):
            return None
        holds = place(ask, self.seats, self.booked, self.machine)
        if holds is None:
            self._in_vain[wanted] = ask.mb
        return holds

    def is_possible(self, ask: Ask) -> bool:
        """Whether it could start on these devices if they were empty."""
        if ask.mb is None or not is_packed(ask):
            return refusal(ask, self.seats, self.machine) is None
        wanted = ask.gpus or 1
        if any(gpus >= wanted and mb >= ask.mb for gpus, mb in self._possible.items()):
            return over_the_machine(ask, self.machine) is None
        if refusal(ask, self.seats, self.machine) is not None:
            return False
        self._possible[wanted] = ask.mb
        return True
