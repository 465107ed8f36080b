"""Watches how packing affects the pace of runs, and stops adding jobs to a GPU where more did not help."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.job import LiveAttempt
from duckrow.core.schedule.pace import BestPace, Crowds, Finished, best_pace, first_number, next_number
from duckrow.scheduler.devices.known_gpus import KnownGpus
from duckrow.scheduler.state import HostState
from duckrow.store.devices.paces import PaceStore

_MOST_ENDS = 256  # the latest of a recipe: older ones may have been other work
_SHORTEST_S = 1.0  # shorter runs spend most of their time starting


class Pacing:
    def __init__(self, state: HostState, store: PaceStore, gpus: KnownGpus) -> None:
        self._state = state
        self._store = store
        self._gpus = gpus
        self._crowds = Crowds()
        self._ends: dict[tuple[str, str], deque[Finished]] = {}  # by recipe and model, since this host started
        self._tried: dict[tuple[str, str], int | None] = {}  # how many at a time from now on; None: all that have room
        self._found_before: set[tuple[str, str]] = set()  # what was already known when we began
        self.known: Mapping[tuple[str, str], BestPace] = {}

    def load(self) -> None:
        self.known = self._store.known()

    def most_of(self, recipe: str) -> int | None:
        """How many jobs may be on a GPU where one of this recipe will start; None: as many as have room."""
        numbers = [self._most_of((recipe, model)) for model in self._gpus.given_out.models]
        return None if None in numbers else max((number for number in numbers if number is not None), default=None)

    def _most_of(self, key: tuple[str, str]) -> int | None:
        waiting = len(self._state.queue.jobs)
        if key not in self._tried:
            cores, gpus = self._gpus.machine.cpus, len(self._gpus.given_out.sizes_mb)
            self._tried[key] = first_number(self.known.get(key), cores, gpus, waiting)
            self._found_before |= {key} & self.known.keys()
        number = self._tried[key]
        return None if number is None or waiting <= number else number  # the last jobs need not wait for another wave

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        for attempt in starts:
            if attempt.job.needs is not None and attempt.holds[0].device.is_gpu:
                self._note(mono)
                self._crowds.came(attempt.id, attempt.holds[0][0], mono)

    def ended(self, attempt: LiveAttempt, succeeded: bool, mono: float, busy: float | None = None) -> None:
        """Called before its reservation is released, in the tick's transaction. `busy`: its GPU, in percent."""
        needs, lasted_s = needs_from(attempt.job.needs), mono - attempt.started.mono
        if attempt.job.needs is None or not attempt.holds[0].device.is_gpu:
            return
        together = self._crowds.went(attempt.id, mono)
        gpu = attempt.holds[0][0]
        self._note(mono, {gpu: self._state.booked.jobs[gpu] - 1})
        if succeeded and together is not None and needs.auto and needs.recipe and lasted_s >= _SHORTEST_S:
            self._learn((needs.recipe, self._gpus.model(gpu)), Finished(together, lasted_s, busy))

    def _note(self, mono: float, but: Mapping[str, int] | None = None) -> None:
        self._crowds.note({**self._state.booked.jobs, **(but or {})}, mono)

    def _learn(self, key: tuple[str, str], end: Finished) -> None:
        ends = self._ends.setdefault(key, deque(maxlen=_MOST_ENDS))
        ends.append(end)
        if key not in self._found_before:  # else do not try again: that would cost each batch a little
            waiting = sum(needs_from(job.needs).recipe == key[0] for job in self._state.queue.jobs)
            self._tried[key] = next_number(ends, waiting, self._tried.get(key))
        found = best_pace(ends)
        if found is not None and found != self.known.get(key):
            self._store.learn(*key, found)
            self.known = {**self.known, key: found}
