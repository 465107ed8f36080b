"""Act: do what is already on disk. If the host dies on the way, the next one finds out how far it got."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.ports import Engine, Observer, StartOrder
from duckrow.scheduler.crashpoints import reach
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.life.job_environment import (
    extra_environment,
    free_port,
    gentle_environment,
    launcher_environment,
)
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.collaborators import Collaborators
from duckrow.scheduler.tick.record import Recorded


class ActPhase:
    def __init__(
        self, state: HostState, host: Host, engine: Engine, observer: Observer, collaborators: Collaborators
    ) -> None:
        self._state = state
        self._host = host
        self._engine = engine
        self._observer = observer
        self._sharing = collaborators.sharing
        self._folder_of = collaborators.new_attempts.folder_of

    def __call__(self, recorded: Recorded) -> None:
        for attempt in recorded.new:
            self._observer.starting(attempt)
        self._start(recorded)
        self._warn_and_stop(recorded)
        if self._state.take_freed():
            self._host.ring_others()
        reach("acted")
        self._tell(recorded)

    def _start(self, recorded: Recorded) -> None:
        orders = [self._order(attempt) for attempt in recorded.starts]
        if len(orders) > 1:
            # The host may die half-way. The jobs that have not started must then go back to the queue.
            self._engine.start(orders[:1])
            reach("half-acted")
            orders = orders[1:]
        self._engine.start(orders)
        self._line_up(recorded.lined_up)  # after the starts: they may follow one of those

    def _line_up(self, attempts: Sequence[LiveAttempt]) -> None:
        """All at once: if the first ones were started and seen to end before the others are lined up, those would find
        no line to stand in, and no device would have work while the next tick writes."""
        orders = []
        for attempt in attempts:
            orders.append(self._order(attempt))
            self._engine.follow_up()
        for order in orders:
            self._engine.line_up(order)
        self._engine.follow_up()

    def _order(self, attempt: LiveAttempt) -> StartOrder:
        folder = self._folder_of(attempt.job)
        gentle = launcher_environment(attempt, self._new_port)
        if attempt.job.needs is not None:
            jobs = len(self._state.live) + len(self._state.queue.jobs)
            gentle |= gentle_environment(attempt, len(self._state.seats), jobs)
        gentle |= self._sharing.variables(attempt)
        extra = extra_environment(attempt, folder, self._state.written_devices)
        return StartOrder(attempt, folder, extra, gentle, self._runs_follow(attempt.job))

    def _runs_follow(self, job: QueuedJob) -> bool:
        if job.preload is None:
            return False
        others = chain((attempt.job for attempt in self._state.live.values()), self._state.queue.jobs)
        shared = (job.preload, job.environment_id, job.cwd)
        return any((other.preload, other.environment_id, other.cwd) == shared for other in others if other.id != job.id)

    def _new_port(self) -> int:
        port = free_port(self._state.ports)
        self._state.hand_out(port)
        return port

    def _warn_and_stop(self, recorded: Recorded) -> None:
        """Record in each attempt only what was really done to it."""
        for (attempt,) in recorded.notices:
            if attempt.job.notice_signal is not None:
                self._engine.notice(attempt, attempt.job.notice_signal)
            attempt.note_notice()
        for attempt, step, _ in recorded.stops:
            attempt.take_step(step)
            self._engine.stop(attempt, step)

    def _tell(self, recorded: Recorded) -> None:
        for ended, verdict, at in self._state.ends:
            self._observer.ended(ended, verdict, at)
        for job_id in self._state.came_back:
            self._observer.back(job_id)
        for attempt in recorded.new:
            self._observer.started(attempt)
