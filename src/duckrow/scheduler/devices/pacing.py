"""Watches how packing affects the pace of runs, and stops adding jobs to a GPU where more did not help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from duckrow.core.devices.machine import is_one_wave
from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.use import Use
from duckrow.core.ports import CoreTime
from duckrow.core.schedule.pace import Finished, best_pace, first_number, next_number
from duckrow.core.schedule.step_times import Company
from duckrow.scheduler.devices.reported_steps import last_step
from duckrow.scheduler.state.gpu_paces import PaceKey
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.devices.paces import PaceStore

_SHORTEST_S = 1.0  # shorter runs spend most of their time starting
_LOOK_S = 2.0  # how often to look which steps have been reported


class Pacing:
    def __init__(
        self,
        state: HostState,
        store: PaceStore,
        folder_of: Callable[[QueuedJob], str],
        core_time: Callable[[], CoreTime | None],
    ) -> None:
        self._state = state
        self._store = store
        self._paces = state.gpu_paces
        self._folder_of = folder_of
        self._core_time = core_time

    def load(self) -> None:
        self._paces.load(self._store.known())

    def most_of(self, recipe: str) -> int | None:
        """How many jobs may be on a GPU where one of this recipe will start; None: as many as have room."""
        numbers = [self._most_of((recipe, model)) for model in self._state.gpus.given_out.models]
        return None if None in numbers else max((number for number in numbers if number is not None), default=None)

    def _most_of(self, key: PaceKey) -> int | None:
        waiting = len(self._state.queue.jobs)
        number = self._paces.tried[key] if key in self._paces.tried else self._first_number(key)
        return None if number is None or is_one_wave(number + waiting, number) else number

    def _first_number(self, key: PaceKey) -> int | None:
        """Before the first of them has started."""
        cores, gpus = self._state.gpus.machine.cpus, len(self._state.gpus.given_out.sizes_mb)
        return first_number(self._paces.known.get(key), cores, gpus, len(self._state.queue.jobs))

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        on_gpus = [each for each in starts if each.job.needs is not None and each.holds[0].device.is_gpu]
        core_time = self._core_time() if on_gpus else None
        for attempt in on_gpus:
            self._note(mono)
            self._paces.crowds.came(attempt.id, attempt.holds[0][0], mono)
            self._paces.started(attempt.id, core_time)

    def begin(self, recipe: str) -> None:
        """Its first run starts. From now on, only what is learned changes how many at a time are tried.

        Called while it is still in the head of the queue, which tells how many wait. A short queue may grow: then the
        next start asks again.
        """
        for model in self._state.gpus.given_out.models:
            if (recipe, model) not in self._paces.tried:
                self._paces.begin((recipe, model), self._first_number((recipe, model)))

    def ended(self, attempt: LiveAttempt, succeeded: bool, mono: float, busy: float | None = None) -> None:
        """Called before its reservation is released, in the tick's transaction. `busy`: its GPU, in percent."""
        needs, lasted_s = needs_from(attempt.job.needs), mono - attempt.started.mono
        if attempt.job.needs is None or not attempt.holds[0].device.is_gpu:
            return
        together, cores = self._paces.crowds.went(attempt.id, mono), self._cores_busy(attempt)
        gpu = attempt.holds[0][0]
        self._note(mono, {gpu: self._state.booked.jobs[gpu] - 1})
        if succeeded and together is not None and needs.auto and needs.recipe and lasted_s >= _SHORTEST_S:
            key = (needs.recipe, self._state.gpus.model(gpu))
            self._paces.note_end(key, Finished(together, lasted_s, busy, cores))
            self._learn(key)
        if self._paces.has_steps(key := (needs.recipe, self._state.gpus.model(gpu))):
            self._look_at(attempt, busy, None)
            self._paces.end_steps(key, attempt.id, succeeded)

    def _cores_busy(self, attempt: LiveAttempt) -> float | None:
        before = self._paces.cores_when_started(attempt.id)
        now = self._core_time() if before is not None else None
        return None if now is None or before is None else now.busy_since(before)

    def look(self, uses: Mapping[int, Use], mono: float) -> None:
        """See how far runs have come that report their steps. Called in the tick's transaction."""
        if mono - self._paces.looked_mono < _LOOK_S:
            return
        self._paces.look(mono)
        paced = [attempt for attempt in self._state.running if self._is_paced(attempt)]
        core_time = self._core_time() if paced else None
        busy = {id: use.busy_while_used for id, use in uses.items()}
        told = {self._look_at(attempt, busy.get(attempt.id), core_time) for attempt in paced}
        for key in told:
            if key is not None:
                self._learn(key)

    def _is_paced(self, attempt: LiveAttempt) -> bool:
        if attempt.job.needs is None or len(attempt.gpus) != 1 or attempt.suspended_mono is not None:
            return False
        needs = needs_from(attempt.job.needs)
        return needs.auto and bool(needs.recipe)

    def _look_at(self, attempt: LiveAttempt, busy: float | None, core_time: CoreTime | None) -> PaceKey | None:
        """Its recipe and model, if it tells anything."""
        step = last_step(self._folder_of(attempt.job))
        if step is None:
            return None
        gpu = attempt.gpus[0]
        key = (needs_from(attempt.job.needs).recipe, self._state.gpus.model(gpu))
        company = Company(self._state.booked.jobs[gpu], busy, core_time, self._any_starts(gpu, key))
        began_at = attempt.started.wall if attempt.number == 1 else None
        return key if self._paces.note_step(key, attempt.id, began_at, step, company) else None

    def _any_starts(self, gpu: str, key: PaceKey) -> bool:
        """Whether a run of this recipe there has not reported a step yet."""
        here = (attempt for attempt in self._state.running if gpu in attempt.gpus)
        alike = (attempt for attempt in here if needs_from(attempt.job.needs).recipe == key[0])
        return not all(self._paces.has_step_of(key, attempt.id) for attempt in alike)

    def _note(self, mono: float, but: Mapping[str, int] | None = None) -> None:
        self._paces.crowds.note({**self._state.booked.jobs, **(but or {})}, mono)

    def _learn(self, key: PaceKey) -> None:
        done = self._paces.done(key)
        if key not in self._paces.found_before:  # else do not try again: that would cost each batch a little
            waiting = sum(needs_from(job.needs).recipe == key[0] for job in self._state.queue.jobs)
            self._paces.take(key, next_number(done, waiting, self._paces.tried.get(key)))
        found = best_pace(done)
        if found is not None and not found.is_like(self._paces.known.get(key)):
            self._store.learn(*key, found)
            self._paces.learn(key, found)
