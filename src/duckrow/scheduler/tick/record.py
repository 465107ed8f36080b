"""Record: write what was decided into the state and the database, within the tick's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Engine, Observer
from duckrow.core.schedule.decide import Decision, Notice, StopStep
from duckrow.scheduler.devices.neighbours import OwnNeighbours
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.collaborators import Collaborators
from duckrow.store.tick import TickStores


class Recorded(NamedTuple):
    """What is on disk and must be done now."""

    starts: Sequence[LiveAttempt]
    lined_up: Sequence[LiveAttempt]
    notices: Sequence[Notice]
    stops: Sequence[StopStep]

    @property
    def new(self) -> Sequence[LiveAttempt]:
        return [*self.starts, *self.lined_up]


class RecordPhase:
    def __init__(
        self, state: HostState, store: TickStores, engine: Engine, observer: Observer, collaborators: Collaborators
    ) -> None:
        self._state = state
        self._store = store
        self._engine = engine
        self._new = collaborators.new_attempts
        self._lining_up = collaborators.lining_up
        self._watch = collaborators.watch
        self._stopping = collaborators.stopping
        self._early_starts = collaborators.early_starts
        self._neighbours = OwnNeighbours(state, collaborators.watch.ask_of, store.events, observer)

    def __call__(self, decision: Decision, now: Now) -> Recorded:
        self._state.wake_at(decision.wake_mono)
        if decision.plans is not None:
            self._state.keep_plans(decision.plans)
        self._state.early.keep_plan(decision.start_plan)
        for start in decision.starts:
            if start.owed is not None:
                self._early_starts.owe(start.job.id, start.owed)
        starts = [self._new.start(start.job, start.holds, now) for start in decision.starts]
        self._watch.started(starts, now.mono)
        self._state.queue.drop([start.job for start in decision.starts])
        lined_up = self._lining_up.grow(now)
        for attempt in (*starts, *lined_up):
            self._store.attempts.start(attempt)
            self._engine.follow_up()  # many starts take longer to write than the short jobs before them take to end
        self._neighbours.note(starts, now.wall)
        for attempt, _, begins_for in decision.stops:
            if begins_for is not None:
                self._begin_stop(attempt, begins_for, now)
        return Recorded(starts, lined_up, decision.notices, decision.stops)

    def _begin_stop(self, attempt: LiveAttempt, reason: Outcome, now: Now) -> None:
        detail = f"over its time limit of {attempt.job.timeout_s:g} s" if attempt.job.timeout_s else ""
        self._stopping.begin(attempt, reason, now, detail)
