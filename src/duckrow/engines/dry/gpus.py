"""The GPUs of a dry machine. Readings show what its attempts use, according to their behaviour."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.ports import DeviceSource, Gpu, Health, ProcessUse, Reactor, Reading
from duckrow.engines.dry.machine import DryMachine


class HandReader:
    """Reads GPUs at once, by the clock of its host: no time passes meanwhile, also if the GPUs are real ones."""

    def __init__(self, reactor: Reactor, source: DeviceSource) -> None:
        self._reactor = reactor
        self._source = source
        self._asked: Sequence[str] = ()
        self._is_there = False  # whether there is an answer
        self.waiting = False
        self.no_library = False

    @property
    def empty(self) -> bool:
        return not self._is_there

    def ask(self, names: Sequence[str]) -> None:
        if not self.waiting:
            self.waiting, self._asked = True, names
            self._reactor.later(0, self._arrive)

    def _arrive(self) -> None:
        self._is_there = True

    def answer(self) -> tuple[list[Gpu], list[Reading]] | None:
        if not self._is_there:
            return None
        self._is_there = self.waiting = False
        self.no_library = not self._source.is_there()
        if self.no_library:
            return None
        devices, now = self._source.devices(), self._reactor.now()
        read = self._source.read(list(dict.fromkeys([*self._asked, *(device.name for device in devices)])))
        return devices, [reading._replace(at=now.wall, mono=now.mono) for reading in read]


class DryGpus:
    def __init__(self, machine: DryMachine, reactor: Reactor) -> None:
        self._machine = machine
        self._reactor = reactor

    def is_there(self) -> bool:
        return bool(self._machine.gpus_mb)

    def devices(self) -> list[Gpu]:
        return [Gpu(name, "Dry GPU", f"GPU-dry-{name}", mb) for name, mb in self._machine.gpus_mb.items()]

    def read(self, names: Sequence[str]) -> list[Reading]:
        return [self._read(name) for name in names]

    def rest(self) -> None:
        """Nothing to do: nothing is open."""

    def _read(self, name: str) -> Reading:
        now, total_mb = self._reactor.now(), self._machine.gpus_mb.get(name)
        if total_mb is None:
            return Reading(name, now.wall, now.mono, None, None, None, None, None, problem="there is no such GPU")
        health = self._machine.health.get(name, Health())
        if health.is_silent:
            return Reading(name, now.wall, now.mono, None, None, None, None, None, "it does not answer", health)
        uses = tuple(
            ProcessUse(process.pid, process.behaviour.mb_after(now.mono - process.started_mono))
            for process in self._machine.processes.values()
            if name in process.gpus and not process.is_gone(now.mono)
        )
        uses += tuple(ProcessUse(pid, mb) for pid, mb in self._machine.strangers_mb.get(name, {}).items())
        used_mb = sum(use.mb or 0 for use in uses) + self._machine.foreign_mb.get(name, 0)
        busy = self._machine.busy.get(name, 100 if uses else 0)
        return Reading(name, now.wall, now.mono, total_mb, total_mb - used_mb, busy, 40, uses, health=health)


def dry_reader(machine: DryMachine, reactor: Reactor) -> HandReader:
    return HandReader(reactor, DryGpus(machine, reactor))
