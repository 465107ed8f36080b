"""Where a job would run if it were added now, by the same rules that place it."""

from __future__ import annotations

import math

from duckrow.api.client import Client
from duckrow.api.devices.gpus import GpuView
from duckrow.api.devices.machine_now import machine_as_read
from duckrow.api.devices.out_of_use import out_of_use
from duckrow.core.devices.device import Reservations, describe_devices, only_gpus
from duckrow.core.devices.inventory import Ledger, Seat, book, has_room
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.states import State
from duckrow.core.memory.observation import FRESH_S
from duckrow.core.memory.prediction import gpus_of, predicted_ask
from duckrow.core.schedule.placement import place, refusal
from duckrow.core.units import plural
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.waiting import WaitingStore

_MOST_AHEAD = 10_000


class WouldPlace:
    """Places jobs one after the other; each one sees those before it."""

    def __init__(self, client: Client) -> None:
        self._runs = client.daemon() is not None
        self._booked = Ledger()
        if not self._runs:
            return
        unused = out_of_use(client.database, DAEMON)
        self._seats = [seat for seat in client.seats() if unused.isdisjoint(seat.devices)]
        # If GPUs can be read, wait for a reading: without one, nothing counts as free.
        is_read = bool(client.hosts.machine(DAEMON).models)
        readings = GpuView(client, patient=is_read).readings([client.hosts.get(DAEMON)], FRESH_S / 2)
        self._machine = machine_as_read(client, DAEMON, readings)
        self._peaks, self._here = PeakStore(client.database).known(), gpus_of(client.seats(), self._machine)
        # Only jobs that may start: no job waits behind one that is held, paused, delayed or waits for another job.
        queue = WaitingStore(client.database).queue_of_host(DAEMON, _MOST_AHEAD)
        self._ahead: list[tuple[float, bool]] = [(row.priority, self._is_aside(row.gpus)) for row in queue]
        pauses = client.jobs.pauses()
        self._all_paused, self._paused = "" in pauses, set(pauses)
        for row in sorted(client.jobs.live(), key=lambda row: row.state == State.STARTING):
            holds = row.holds if row.job_host_id == DAEMON else only_gpus(row.holds)
            if row.state == State.STARTING and not has_room(Seat(holds), self._booked):
                self._ahead.append((math.inf, self._is_beside(holds)))  # it is lined up behind another one
            book(holds, self._booked)

    def _is_aside(self, gpus: int | None) -> bool:
        """CPU slots beside GPUs are only for jobs that need no GPU, so they have a queue of their own."""
        return gpus == 0 and any(seat.side for seat in self._seats)

    def _is_beside(self, holds: Reservations) -> bool:
        """Whether it has a CPU slot beside GPUs."""
        held = {device for device, _ in holds}
        return any(seat.side and not held.isdisjoint(seat.devices) for seat in self._seats)

    def place(self, spec: JobSpec) -> tuple[str, str | None]:
        """(where it would run, in words; why it could never start)."""
        if not self._runs:
            return "the daemon is not running: it starts when you add jobs", None
        ask = predicted_ask(spec.gpus, spec.needs.as_text(), self._peaks, self._here)
        never = refusal(ask, self._seats, self._machine)
        if never:
            return "", f"This job can never start. {never}"
        if spec.held:
            return "it waits until it is released", None
        if self._all_paused or spec.project in self._paused:
            return f"it waits: {'everything' if self._all_paused else spec.project} is paused", None
        is_aside = self._is_aside(spec.gpus)
        ahead = sum(priority >= spec.priority and aside == is_aside for priority, aside in self._ahead)
        holds = None if ahead else place(ask, self._seats, self._booked, self._machine)
        if holds is not None:
            book(holds, self._booked)
            return f"it starts at once, on {describe_devices(device for device, _ in holds)}", None
        self._ahead.append((spec.priority, is_aside))
        more = "more than " if ahead >= _MOST_AHEAD else ""
        behind = f", after {more}{plural(ahead, 'job')}" if ahead else ""
        return f"it waits for a free device{behind}", None
