"""--enforce-memory: stops and requeues a job that takes far more than it reserved, if others would run out."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.states import Outcome
from duckrow.core.memory.enforcement import Holding, gives_way
from duckrow.core.units import format_mb
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.state.host_state import HostState


class Enforcing:
    def __init__(self, state: HostState, stopping: Stopping) -> None:
        self._state = state
        self._stopping = stopping

    def look(self, now: Now) -> None:
        """After the GPUs were read, in the tick's transaction. Stop one job per GPU at a time: that may be enough."""
        if not self._state.gpus.machine.policy.enforce or not self._state.observation.uses:
            return
        for gpu in self._state.gpus.watched:
            attempts = [each for each in self._state.running if gpu in dict(each.holds)]
            # The memory of a job that is being stopped counts as free.
            found = self._offender(gpu, [each for each in attempts if each.stop is None], attempts)
            if found is not None:
                attempt = self._state.live[found.attempt_id]
                self._stopping.begin(attempt, Outcome.OUT_OF_MEMORY, now, _why(found))

    def _offender(self, gpu: str, staying: list[LiveAttempt], attempts: list[LiveAttempt]) -> Holding | None:
        reading = self._state.observation.readings.get(gpu)
        if reading is None or reading.free_mb is None or reading.total_mb is None or len(staying) < 2:
            return None
        going_mb = sum(self._used_mb(each, gpu) for each in attempts if each not in staying)
        holdings = [self._holding(each, gpu, reading.total_mb) for each in staying]
        return gives_way(holdings, reading.free_mb + going_mb)

    def _holding(self, attempt: LiveAttempt, gpu: str, total_mb: int) -> Holding:
        reserved_mb = sum(share for device, share in attempt.holds if device == gpu) * total_mb // WHOLE
        return Holding(attempt.id, reserved_mb, self._used_mb(attempt, gpu), attempt.started.mono)

    def _used_mb(self, attempt: LiveAttempt, gpu: str) -> int:
        use = self._state.observation.uses.get(attempt.id)
        return 0 if use is None or use.is_guess else use.mb.get(gpu, 0)


def _why(found: Holding) -> str:
    return (
        f"it uses {format_mb(found.used_mb)} of a GPU and has reserved {format_mb(found.reserved_mb)}, "
        "so others would run out of memory (--enforce-memory)"
    )
