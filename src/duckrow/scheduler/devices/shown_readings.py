"""The GPU readings that people see: the last one while somebody looks, and their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckrow.core.jobs.attempt import ATTEMPTS_PER_JOB
from duckrow.core.memory.attribution import Owners
from duckrow.core.ports import Reading
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.devices.history import HistoryWriter
from duckrow.store.devices.readings import ReadingStore

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any


class ShownReadings:
    def __init__(self, state: HostState, store: ReadingStore, history: HistoryWriter) -> None:
        self._state = state
        self._store = store
        self._history = history

    def tell(self, readings: Sequence[Reading], owners: Owners, mono: float, locked_by: Mapping[str, int]) -> None:
        """Called in the tick's transaction. Keeps the readings of the GPUs that we schedule on.

        `locked_by`: GPU -> the user whose duckrow is about to take memory there.
        """
        ours = set(self._state.gpus.watched)
        for reading in readings:
            if reading.device not in ours:
                continue
            self._history.note(reading)
            if self._state.reading.is_looked_at(mono):
                told = {**self._described(reading, owners, mono), "locked_by": locked_by.get(reading.device)}
                self._store.keep(reading.device, reading.at, told)

    def _described(self, reading: Reading, owners: Owners, mono: float) -> dict[str, Any]:
        device = self._state.gpus.devices.get(reading.device)
        return {
            **reading._asdict(),
            "model": device.model if device else "",
            "uuid": device.uuid if device else "",
            "foreign_mb": self._state.observation.foreign_mb(reading.device, mono),
            "neighbours": self._state.observation.neighbours(reading.device, mono),
            "processes": [
                {
                    "pid": pid,
                    "mb": mb,
                    "job_id": abs(owners.of.get(pid, 0)) // ATTEMPTS_PER_JOB or None,
                    "ignored": pid in owners.ignored,
                }
                for pid, mb in reading.processes or ()
            ],
        }
