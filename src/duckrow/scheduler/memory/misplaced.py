"""Detects jobs that use a GPU that they were not given, for example because the script chooses one itself."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.devices.device import reservations
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.memory.attribution import MisplacedProcess, Owners, Tenant, misplaced_processes
from duckrow.core.ports import Observer, Reading
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.events import EventStore


class MisplacedAttempts:
    def __init__(self, state: HostState, events: EventStore, observer: Observer) -> None:
        self._state = state
        self._events = events
        self._observer = observer

    def look(self, readings: Sequence[Reading], owners: Owners, at: float) -> None:
        """Warn once about each attempt on a GPU that it was not given. Called in the tick's transaction."""
        live = self._state.live
        for misplaced in misplaced_processes(
            readings, [self._given(each) for each in live.values() if each.follows is None], owners
        ):
            if misplaced.attempt_id not in self._state.notes.misplaced:
                self._state.notes.misplace(misplaced.attempt_id)
                self._warn(live[misplaced.attempt_id], misplaced, at)

    def _given(self, attempt: LiveAttempt) -> Tenant:
        """With the library's names for its GPUs too: a seat may be named by UUID."""
        holds = reservations((self._state.gpus.name_of(device), share) for device, share in attempt.holds)
        return Tenant(attempt.id, (*attempt.holds, *holds), attempt.started.mono)

    def _warn(self, attempt: LiveAttempt, misplaced: MisplacedProcess, at: float) -> None:
        sentence = warning(misplaced, attempt.gpus)
        # A host that died may have reported it before.
        if self._events.note_once(attempt, sentence, at):
            self._observer.trouble(f"{attempt.job.words.capitalize()}: {sentence}")


def warning(misplaced: MisplacedProcess, given: Sequence[str]) -> str:
    gpus = f"GPU {','.join(given)}" if given else "no GPU"
    return (
        f"it uses GPU {misplaced.gpu} (process {misplaced.pid}) but was given {gpus}: "
        "does the script set CUDA_VISIBLE_DEVICES or cuda:N itself?"
    )
