"""Jobs that nobody knows yet, and that grow, give way before they run out of memory together."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.life.states import Outcome
from duckrow.core.memory.growing import UnknownJob, give_way
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.memory.learning import Learning
from duckrow.scheduler.state.host_state import HostState

_SOON_S = 2.0  # a job that gives way needs some time to end
_WHY = "it and others on its GPU grow, and together they would run out of memory"


class Growing:
    def __init__(self, state: HostState, stopping: Stopping, learning: Learning) -> None:
        self._state = state
        self._stopping = stopping
        self._learning = learning

    def look(self, now: Now) -> None:
        """After the GPUs were read, in the tick's transaction."""
        observation = self._state.observation
        if self._state.gpus.machine.policy.enforce or len(observation.uses) < 2:
            return
        for gpu in self._state.gpus.watched:
            reading = observation.readings.get(gpu)
            if reading is None or reading.free_mb is None or observation.is_outdated([gpu], now.mono):
                continue
            here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
            if any(attempt.stop is not None for attempt in here):  # what it uses is about to be free
                continue
            for attempt_id in give_way(self._jobs(gpu, reading.total_mb or 0, now.mono), reading.free_mb):
                self._stopping.begin(self._state.live[attempt_id], Outcome.OUT_OF_MEMORY, now, _WHY)

    def _jobs(self, gpu: str, total_mb: int, mono: float) -> list[UnknownJob]:
        jobs: list[UnknownJob] = []
        for attempt in self._state.running:
            use = self._state.observation.uses.get(attempt.id)
            if gpu not in attempt.gpus or len(attempt.holds) > 1 or use is None or use.is_guess:
                continue
            if not self._learning.is_new(attempt):
                continue
            ((_, share),) = attempt.holds
            used_mb, grows_by_mb = use.mb.get(gpu, 0), use.grows_by_mb(mono, _SOON_S)
            jobs.append(
                UnknownJob(attempt.id, used_mb, grows_by_mb, share * total_mb // WHOLE, mono - attempt.started.mono)
            )
        return jobs
