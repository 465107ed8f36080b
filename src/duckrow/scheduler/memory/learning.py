"""Learns how much memory jobs of a recipe use: kept when duckrow restarts, and used for the next ones."""

from __future__ import annotations

from duckrow.core.devices.device import Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Ask, ask_of, needs_from, wants_whole_gpus, with_margin
from duckrow.core.jobs.job import LiveAttempt, QueuedJob
from duckrow.core.memory.observation import Observation
from duckrow.core.memory.prediction import leaves_room, predicted_ask
from duckrow.core.memory.use import Use
from duckrow.scheduler.devices.known_gpus import KnownGpus
from duckrow.scheduler.state import HostState
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.devices.peaks import PeakStore


class Learning:
    def __init__(
        self,
        state: HostState,
        store: PeakStore,
        reservations: ReservationStore,
        gpus: KnownGpus,
        observation: Observation,
    ) -> None:
        self._state = state
        self._store = store
        self._reservations = reservations
        self._gpus = gpus
        self._observation = observation
        self.peaks: dict[tuple[str, str], int] = {}  # (recipe, model of GPU) -> MB

    def load(self) -> None:
        self.peaks = self._store.known()

    # -- what is known ----------------------------------------------------------------------------------------

    def ask_of(self, job: QueuedJob) -> Ask:
        """What a job asks for, with what is known of similar ones put in."""
        if job.needs is None:
            return ask_of(job.gpus, None)  # said here too, as this is asked of every job of every tick
        return predicted_ask(job.gpus, job.needs, self.peaks, self._gpus.given_out)

    def wants_memory(self, job: QueuedJob) -> bool:
        ask = self.ask_of(job)
        return ask.mb is not None or ask.total_mb is not None or ask.alone

    def keeps_others_away(self, job: QueuedJob) -> bool:
        """Whether others must be kept from its GPUs until they can see its memory."""
        is_alone = not self._gpus.machine.policy.share and wants_whole_gpus(self.ask_of(job))
        return self.wants_memory(job) or is_alone

    # -- what is learned --------------------------------------------------------------------------------------

    def still_learns(self, attempt: LiveAttempt) -> bool:
        """Whether it holds more than similar jobs will need, once that is known."""
        needs = needs_from(attempt.job.needs)
        return needs.auto and not needs.alone and all(share == WHOLE for _, share in attempt.holds)

    def shrink(self, mono: float) -> None:
        """Those whose use is flat hold no more than that, and others move in beside them."""
        for attempt in list(self._state.live.values()):
            use = self._observation.uses.get(attempt.id)
            if use is not None and attempt.follows is None and self.still_learns(attempt) and use.is_flat(mono):
                self._shrink(attempt, use.peak_mb)

    def _shrink(self, attempt: LiveAttempt, peak_mb: int) -> None:
        machine = self._gpus.machine
        if any(device not in machine.total_mb for device, _ in attempt.holds):
            return
        mb = with_margin(peak_mb)
        holds = tuple(Reservation(device, min(machine.share_of(device, mb), WHOLE)) for device, _ in attempt.holds)
        if holds != attempt.holds:
            self._learn(attempt, peak_mb)
            self._state.rehold(attempt, holds)
            self._reservations.change(attempt)

    def from_success(self, attempt: LiveAttempt, use: Use) -> None:
        if use.peak_mb and not use.is_guess and attempt.job.needs is not None:
            self._learn(attempt, use.peak_mb)

    def from_failure(self, attempt: LiveAttempt, wanted_mb: int) -> None:
        """A job that ran out of memory has said how much it wanted: similar jobs need not find that out one by one."""
        largest_mb = self._gpus.given_out.largest_mb()
        if not wanted_mb or largest_mb is None or attempt.job.needs is None:
            return
        if leaves_room(with_margin(wanted_mb), largest_mb):
            self._learn(attempt, wanted_mb)

    def _learn(self, attempt: LiveAttempt, peak_mb: int) -> None:
        recipe = needs_from(attempt.job.needs).recipe
        if not recipe:
            return
        for model in {self._gpus.model(device) for device, _ in attempt.holds}:
            self._store.learn(recipe, model, peak_mb)
            if peak_mb > self.peaks.get((recipe, model), 0):
                self.load()  # what a person has set stays as it is
