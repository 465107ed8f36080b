"""Learns how much memory jobs of a recipe use. It is kept when duckrow restarts, and used for the next jobs."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.devices.device import Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Ask, ask_of, needs_from, wants_whole_gpus, with_margin
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.growing import TRIED_OUT_S
from duckrow.core.memory.knowledge import Basis
from duckrow.core.memory.prediction import expected_of, leaves_room, predicted_ask
from duckrow.core.memory.use import Use
from duckrow.scheduler.devices.pacing import Pacing
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.devices.peaks import PeakStore


class Learning:
    def __init__(
        self,
        state: HostState,
        store: PeakStore,
        reservations: ReservationStore,
        pacing: Pacing,
    ) -> None:
        self._state = state
        self._store = store
        self._reservations = reservations
        self._pacing = pacing

    def load(self) -> None:
        self._state.know_memory(self._store.known())
        self._pacing.load()

    # -- what is known ----------------------------------------------------------------------------------------

    def ask_of(self, job: QueuedJob) -> Ask:
        """What a job asks for, completed by what is known about similar jobs."""
        if job.needs is None:
            return ask_of(job.gpus, None)  # a shortcut: every tick asks this for every job
        ask = predicted_ask(job.gpus, job.needs, self._state.known_memory, self._state.gpus.given_out)
        most = self._pacing.most_of(needs_from(job.needs).recipe) if _is_paced(job, ask) else None
        return ask if most is None else ask._replace(together=most)

    def wants_memory(self, job: QueuedJob) -> bool:
        ask = self.ask_of(job)
        return ask.mb is not None or ask.total_mb is not None or ask.alone

    def keeps_others_away(self, job: QueuedJob) -> bool:
        """Whether to keep others off its GPUs until they can see its memory."""
        is_alone = not self._state.gpus.machine.policy.share and wants_whole_gpus(self.ask_of(job))
        return self.wants_memory(job) or is_alone

    def is_new(self, attempt: LiveAttempt) -> bool:
        """Whether nobody has told what it takes, and its command has never run to its end."""
        needs = needs_from(attempt.job.needs)
        if not needs.auto:
            return False
        expected = expected_of(needs, self._state.known_memory, self._state.gpus.given_out)
        return expected is None or expected.basis is not Basis.SAME

    def seen_above(self, attempt: LiveAttempt, held_mb: int) -> int:
        """What to reserve, judged by jobs of its recipe, also running ones, if that is more than it held; else 0."""
        needs = needs_from(attempt.job.needs)
        if not needs.recipe:
            return 0
        known_memory, given_out = self._state.known_memory, self._state.gpus.given_out
        expected = expected_of(needs, known_memory, given_out)
        largest = [known_memory.peaks.get((needs.recipe, model)) for model in given_out.models]
        running = (
            use.peak_mb
            for id, use in self._state.observation.uses.items()
            if id in self._state.live and needs_from(self._state.live[id].job.needs).recipe == needs.recipe
        )
        most_mb = max([*(peak.peak_mb for peak in largest if peak is not None), *running], default=0)
        known = (expected.mb or 0 if expected is not None else 0, most_mb)
        return next((with_margin(mb) for mb in known if with_margin(mb) > held_mb), 0)

    # -- what is learned --------------------------------------------------------------------------------------

    def still_learns(self, attempt: LiveAttempt) -> bool:
        """Whether it holds a whole GPU, or a guess, only until its memory use is known."""
        needs = needs_from(attempt.job.needs)
        is_guess = self._state.gpus.machine.is_guess
        return (
            needs.auto
            and not needs.alone
            and all(share == WHOLE or is_guess(gpu, share) for gpu, share in attempt.holds)
        )

    def shrink(self, mono: float) -> None:
        """Attempts whose use is flat shrink to that, and others start beside them.

        Those that still grow after a while shrink too, if they were tried out beside others: to twice what they use.
        """
        waiting = {(needs_from(job.needs).recipe, job.preload) for job in self._state.queue.jobs}
        for attempt in list(self._state.live.values()):
            use = self._state.observation.uses.get(attempt.id)
            if use is None or attempt.follows is not None:
                continue
            are_like_it = waiting == {(needs_from(attempt.job.needs).recipe, None)}  # they import as long as it did
            if not self.still_learns(attempt):
                self._learn_growth(attempt, use)
            elif use.is_flat(mono, ahead_s=(use.first_s or 0.0) if are_like_it else 0.0):
                self._shrink(attempt, use.peak_mb)
            elif mono - attempt.started.mono > TRIED_OUT_S and attempt.holds[0][1] != WHOLE:
                self._shrink(attempt, use.peak_mb * 2)

    def _learn_growth(self, attempt: LiveAttempt, use: Use) -> None:
        """Learn at once if an attempt takes more than any before: others of its recipe may be about to start."""
        needs = needs_from(attempt.job.needs)
        if not needs.recipe or use.is_guess:
            return
        models = {self._state.gpus.model(gpu) for gpu, _ in attempt.holds}
        known = self._state.known_memory
        same = [known.expected(needs.recipe, model, needs.parameters, needs.deciding) for model in models]
        peaks = [known.peaks.get((needs.recipe, model)) for model in models]
        if any(each is None or each.corrected for each in peaks):
            return
        is_more_than_same = any(
            each is not None and each.basis is Basis.SAME and use.peak_mb > with_margin(each.mb or 0, is_same=True)
            for each in same
        )
        if is_more_than_same or all(each and use.peak_mb > with_margin(each.peak_mb) for each in peaks):
            self._learn(attempt, use.peak_mb, is_certain=is_more_than_same)
            self._state.notes.count(attempt.id)

    def _shrink(self, attempt: LiveAttempt, peak_mb: int) -> None:
        machine = self._state.gpus.machine
        if any(device not in machine.total_mb for device, _ in attempt.holds):
            return
        mb = with_margin(peak_mb)
        holds = tuple(Reservation(device, min(machine.share_of(device, mb), WHOLE)) for device, _ in attempt.holds)
        if holds != attempt.holds:
            self._learn(attempt, peak_mb, is_certain=False)
            self._state.notes.count(attempt.id)
            self._state.rehold(attempt, holds)
            self._reservations.change(attempt)

    def look_at_pace(self, mono: float) -> None:
        """Called in the tick's transaction."""
        self._pacing.look(self._state.observation.uses, mono)

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        """Called while they are still in the head of the queue."""
        for needs in (needs_from(attempt.job.needs) for attempt in starts if attempt.job.needs is not None):
            if needs.auto:
                self._pacing.begin(needs.recipe)
        self._pacing.started(starts, mono)

    def from_success(self, attempt: LiveAttempt, use: Use) -> None:
        if use.peak_mb and not use.is_guess and attempt.job.needs is not None:
            self._learn(attempt, use.peak_mb)

    def ended(self, attempt: LiveAttempt, succeeded: bool, mono: float, use: Use | None = None) -> None:
        self._pacing.ended(attempt, succeeded, mono, use.busy_while_used if use is not None else None)

    def from_failure(self, attempt: LiveAttempt, wanted_mb: int) -> None:
        """A job that ran out of memory said how much it wanted: similar jobs need not find that out one by one."""
        largest_mb = self._state.gpus.given_out.largest_mb()
        if not wanted_mb or largest_mb is None or attempt.job.needs is None:
            return
        if leaves_room(with_margin(wanted_mb), largest_mb):
            self._learn(attempt, wanted_mb, is_certain=False)

    def _learn(self, attempt: LiveAttempt, peak_mb: int, is_certain: bool = True) -> None:
        """`is_certain`: it will not take more than that."""
        needs = needs_from(attempt.job.needs)
        if not needs.recipe:
            return
        runs = 0 if attempt.id in self._state.notes.counted else 1
        for model in {self._state.gpus.model(device) for device, _ in attempt.holds}:
            self._store.learn(needs.recipe, model, peak_mb, needs.parameters if is_certain else None, runs)
            self._state.know_memory(self._store.renewed(self._state.known_memory, needs.recipe, model))


def _is_paced(job: QueuedJob, ask: Ask) -> bool:
    """If the user gave the memory, that decides how many fit."""
    return ask.mb is not None and needs_from(job.needs).auto
