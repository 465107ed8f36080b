"""The loop: observe, decide, record, act. Whatever instant it dies at, what is on disk tells what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from duckrow.core.decide import Decision, choose_successors, decide, line_length
from duckrow.core.errors import StateError
from duckrow.core.inventory import CPU, Seat, book, unbook
from duckrow.core.job import JobSpec, LiveAttempt, QueuedJob
from duckrow.core.lifecycle import Outcome, State, outcome_of
from duckrow.core.ports import (
    Ended,
    Gone,
    NeverBegan,
    NotStarted,
    Observer,
    Report,
    Started,
    StartOrder,
    Vanished,
)
from duckrow.core.retry import Verdict, after_end
from duckrow.engines.local.engine import LocalEngine
from duckrow.engines.local.keeper import KeeperLink, keep_own_children
from duckrow.scheduler.crashpoints import reach
from duckrow.scheduler.host import Host
from duckrow.scheduler.reactor import EpollReactor
from duckrow.scheduler.recover import Recovery
from duckrow.scheduler.surroundings import extra_environment
from duckrow.scheduler.wishes import fulfil_wishes, kill_live
from duckrow.store.checkpoint import Checkpointer
from duckrow.store.database import Database
from duckrow.store.jobs import JobStore
from duckrow.store.tick import TickStore

HEAD = 256
"""How much of the queue a tick looks at."""

_BATCH_S = 0.004  # how long the ends of short jobs may wait to be written together
_TROUBLE_S = 2.0  # how long to wait before trying again when the disk is full or the database cannot be written
_RETRY_START_S = 2.0


class Loop:
    def __init__(
        self,
        database: Database,
        host: Host,
        seats: Sequence[Seat],
        link: KeeperLink,
        observer: Observer | None = None,
        output: str = "log",
    ) -> None:
        self.database = database
        self.folder = host.folder
        self.host = host
        self.seats = seats
        self.observer = observer or Observer()
        self.reactor = EpollReactor()
        self.store = TickStore(database, host.id)
        self.jobs = JobStore(database)
        self._checkpointer = Checkpointer(database.path)
        self.engine = LocalEngine(self.reactor, self.folder.keepers, link, self.store.environment, output)
        self._link = link
        self.recovery = Recovery(self)
        self.live: dict[int, LiveAttempt] = {}
        self._followed: dict[int, LiveAttempt] = {}  # attempt -> the one that is lined up behind it
        self.booked: dict[str, int] = {}
        self.dispatching = True
        self.on_end: Callable[[LiveAttempt, Verdict], None] = lambda *_: None
        self.stop_all = 0  # 1: end all that we started, 2: at once
        self.inbox: list[JobSpec] = []  # jobs of a run that have come since the last tick
        self.environment: dict[str, str] = {}  # of those
        self._queue: list[QueuedJob] = []
        self._queue_stale = True
        self._whole_queue = False  # nothing eligible is behind what we hold of the queue
        self._reports: list[Report] = []  # seen, and not yet on disk
        self._told: list[tuple[LiveAttempt, Verdict, float]] = []
        self._next_delayed: float | None = None
        self._wake_at: float | None = None
        self._woken = True
        self._in_trouble = False  # nothing is tried for a while
        self._was_in_trouble = False  # and it was said
        self._gpu_freed = False
        self._ticked_at = 0.0
        self._pace_s = 1.0  # how long jobs last, the last ones counting most
        self.may_line_up = True
        self.reactor.watch(host.bell, self._rung)

    # -- the life of the loop ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take up what an earlier process of this host, or a host that died, has left."""
        self.host.announce(self.seats)
        with self.database.transaction():
            self.recovery.adopt_own()
        self.engine.clean_up(self.store.keepers_in_use())
        self.engine.on_keeper_death(self._become_keeper)

    def turn(self, at_most_s: float | None = None) -> None:
        """Sleep until something happens, then one tick."""
        self._reports += self.engine.reports()  # starting may have failed at once
        until_tick_s = self._until_tick_s()
        waits = [seconds for seconds in (at_most_s, until_tick_s) if seconds is not None]
        self.reactor.wait(min(waits, default=None))
        self._reports += self.engine.reports()
        if self._until_tick_s() != 0:
            return
        try:
            self.tick()
            if self._was_in_trouble:
                self._was_in_trouble = False
                self.observer.trouble_over()
        except StateError as error:
            self._survive(error)

    def tick(self) -> None:
        now = self._ticked_at = time.time()
        self._gpu_freed = False
        self._told = []
        with self.database.transaction():
            reach("observed")
            self._observe(now)
            starts, decision = self._decide(now)
            lined_up = self._line_up(now)
            reach("decided")
            self.store.start(starts)
            self.store.start(lined_up)
            self._record_stops(decision, now)
        reach("recorded")
        self._checkpointer.committed()
        self.engine.settled()
        self._reports = []
        self.inbox = []
        self._act(starts, lined_up, decision)
        reach("acted")
        self._tell([*starts, *lined_up])

    def idle(self) -> bool:
        """Nothing runs here and nothing of ours is left to run. A paused or held job is left."""
        ours = any(attempt.job_host_id == self.host.id for attempt in self.live.values())
        return not (ours or self.inbox or self._queue or self._reports or self._queue_stale) and (
            not self.store.unfinished()
        )

    @property
    def jobs_wait(self) -> bool:
        return bool(self._queue or self.inbox)

    def close(self) -> None:
        """Let go: what runs goes on, and is found again by the next host."""
        self.engine.close(self.store.keepers_in_use())
        self._checkpointer.finish()
        self.host.close()
        self.host.ring_others()
        self.reactor.close()

    def _become_keeper(self) -> NoReturn:
        """Our keeper was killed, and with it the one who would see our attempts' ends if we died too.

        So we are no host any more, which others see at once, but the keeper of our own children.
        """
        self.host.release()
        self.database.close()
        keep_own_children(self._link.journal)

    def wake(self) -> None:
        self._woken = True

    def forget(self, attempt: LiveAttempt) -> None:
        """An attempt whose start could not be written."""
        del self.live[attempt.id]
        if attempt.follows is not None:
            self._followed.pop(attempt.follows, None)

    def look_again(self) -> None:
        """The head of the queue that we hold is no longer the head of the queue."""
        self._queue_stale = True

    # -- observe ----------------------------------------------------------------------------------------------

    def _observe(self, now: float) -> None:
        changed = self.database.changed_by_others() or self._woken
        self._woken = False
        if changed or self.stop_all or not self.dispatching:
            self._stand_down(now)
        if changed:
            self.host.look_around()
            self.recovery.adopt_orphans()
            self._rebook()
            self._queue_stale = True
            self._next_delayed = self.store.next_delayed()
        if self.inbox:
            environment_id = self.jobs.keep_environment(self.environment)
            self.jobs.add(self.host.id, self.inbox, environment_id)
            self._queue_stale = self._queue_stale or not self._queue or self._whole_queue
            self._whole_queue = False
        self._settle_reports(now)
        if changed:
            fulfil_wishes(self, now)
        if self.stop_all:
            for attempt in self.live.values():
                if attempt.job_host_id == self.host.id:
                    kill_live(self, attempt, now, "interrupted", at_once=self.stop_all > 1)
            self.stop_all = 0
        if self._next_delayed is not None and now >= self._next_delayed:
            self.store.release_delayed(now)
            self._next_delayed = self.store.next_delayed()
            self._queue_stale = True

    def _stand_down(self, now: float) -> None:
        """Something has changed: who was lined up goes back, so that all of the queue is weighed anew."""
        for attempt in list(self._followed.values()):
            if attempt.follows is not None and self.engine.stand_down(attempt):
                self.store.unstart(attempt, None, now, "stood back")
                del self.live[attempt.id]
                del self._followed[attempt.follows]
                self._queue_stale = True

    def _rebook(self) -> None:
        """What is held: by us, as we know it; by other hosts, as the database says. CPU slots are each host's own."""
        self.booked = {}
        for attempt in self.live.values():
            self._book(attempt)
        for holds in self.store.foreign_holds():
            book([hold for hold in holds if not hold[0].startswith(CPU)], self.booked)

    def _book(self, attempt: LiveAttempt) -> None:
        if attempt.follows is None:
            book(self._counted(attempt), self.booked)

    def _counted(self, attempt: LiveAttempt) -> Sequence[tuple[str, int]]:
        if attempt.job_host_id == self.host.id:
            return attempt.holds
        return [hold for hold in attempt.holds if not hold[0].startswith(CPU)]

    # -- reports ----------------------------------------------------------------------------------------------

    def _settle_reports(self, now: float) -> None:
        ended = {report.attempt_id for report in self._reports if not isinstance(report, Started)}
        for report in self._reports:
            attempt = self.live.get(report.attempt_id)
            if attempt is None:
                continue
            match report:
                case Started(_, pid):
                    self._saw_start(attempt, pid, now, ended)
                case Ended(_, exit_code, signal, at, leftovers, silent):
                    attempt.exit_code, attempt.signal, attempt.exited_at = exit_code, signal, at
                    if silent:
                        attempt.log = ""
                    if leftovers:
                        self._begin_clearing(attempt, now)
                    else:
                        self._finish(attempt, now)
                case Gone():
                    self._finish(attempt, now)
                case Vanished(_, reason):
                    self._finish(attempt, now, Outcome.LOST, reason)
                case NeverBegan():
                    self._unstart(attempt, None, now, "it had not begun when the scheduler ended")
                case NotStarted(_, reason, try_later):
                    self._not_started(attempt, reason, try_later, now)

    def _saw_start(self, attempt: LiveAttempt, pid: int, now: float, ended: set[int]) -> None:
        attempt.pid = pid
        if attempt.id not in ended and attempt.state is State.STARTING:
            self.store.running(attempt, pid, now)
        elif attempt.stop_step == 1:
            attempt.stop_step = 0  # it was asked to end before it was there to hear it: ask again

    def _begin_clearing(self, attempt: LiveAttempt, now: float) -> None:
        """The job's own process has ended; what it left behind is ended too before its devices are free."""
        self.store.note_exit(attempt)
        if attempt.stop_began_at is None:
            self.store.stopping(attempt, None, now, "ended, but left processes behind")
            attempt.stop_began_at = now
        if attempt.stop_step < 2:
            attempt.stop_step = 0

    def _finish(self, attempt: LiveAttempt, now: float, outcome: Outcome | None = None, detail: str = "") -> None:
        if outcome is None:
            outcome = outcome_of(attempt.exit_code, attempt.signal, attempt.stopped_for)
        at = attempt.exited_at or now
        self._pace_s += 0.2 * (at - attempt.started_at - self._pace_s)
        wanted_dead = attempt.stopped_for is Outcome.KILLED
        verdict = after_end(attempt.job, outcome, attempt.exit_code, at - attempt.started_at, now, wanted_dead, detail)
        self._close(attempt, verdict, at, now)

    def _close(self, attempt: LiveAttempt, verdict: Verdict, at: float, now: float) -> None:
        self.store.finish_attempt(attempt, verdict.outcome, at, verdict.detail)
        if verdict.again:
            self.store.requeue_job(attempt.job, attempt.state, verdict, now)
            self._came_back(verdict.not_before)
        else:
            self.store.finish_job(attempt.job.id, attempt.state, verdict.outcome, at, verdict.detail)
        self._release(attempt)
        self._told.append((attempt, verdict, at))
        self.on_end(attempt, verdict)  # before anything else is started: it may have been one failure too many

    def _not_started(self, attempt: LiveAttempt, reason: str, try_later: bool, now: float) -> None:
        if try_later:
            self._unstart(attempt, now + _RETRY_START_S, now, f"not started: {reason}")
            self.observer.trouble(f"Job {attempt.job.id} could not be started: {reason}. It is tried again.")
        else:
            self._finish(attempt, now, Outcome.FAILED, f"could not be started: {reason}")

    def _unstart(self, attempt: LiveAttempt, not_before: float | None, now: float, detail: str) -> None:
        if attempt.stopped_for is Outcome.KILLED:
            self._finish(attempt, now, Outcome.KILLED, "killed before it began")
            return
        self.store.unstart(attempt, not_before, now, detail)
        self._came_back(not_before)
        self._release(attempt)

    def _came_back(self, not_before: float | None) -> None:
        self._queue_stale = True
        if not_before is not None and (self._next_delayed is None or not_before < self._next_delayed):
            self._next_delayed = not_before

    def _release(self, attempt: LiveAttempt) -> None:
        del self.live[attempt.id]
        unbook(self._counted(attempt), self.booked)
        successor = self._followed.pop(attempt.id, None)
        if successor is not None:
            successor.follows = None
            self._book(successor)
            return
        if not attempt.holds[0][0].startswith(CPU) or attempt.job_host_id != self.host.id:
            self._gpu_freed = True

    # -- decide and record ------------------------------------------------------------------------------------

    def _decide(self, now: float) -> tuple[list[LiveAttempt], Decision]:
        if self.dispatching and (self._queue_stale or (not self._queue and not self._whole_queue)):
            self._queue = self.store.eligible(HEAD)
            self._whole_queue = len(self._queue) < HEAD
            self._queue_stale = False
        queue = self._queue if self.dispatching else []
        decision = decide(now, self.live.values(), queue, self.seats, self.booked)
        self._wake_at = decision.wake_at
        if not decision.starts:
            return [], decision
        self._drop_from_queue([start.job for start in decision.starts])
        return [self._attempt_of(start.job, start.holds, now) for start in decision.starts], decision

    def _line_up(self, now: float) -> list[LiveAttempt]:
        """Jobs so short that their devices would stand idle while we write: they follow without us."""
        length = line_length(self._pace_s) if self.may_line_up and self.dispatching and self._queue else 0
        if length == 0:
            return []
        tails = [
            attempt
            for attempt in self.live.values()
            if attempt.id not in self._followed
            and attempt.job_host_id == self.host.id
            and attempt.stop_began_at is None
        ]
        room = len(tails) * length - len(self._followed)
        chosen = choose_successors(tails, self._queue, room)
        self._drop_from_queue([job for _, job in chosen])
        last_of = {tail.id: tail.id for tail in tails}
        lined_up: list[LiveAttempt] = []
        for tail, job in chosen:
            successor = self._attempt_of(job, tail.holds, now)
            successor.follows = last_of[tail.id]
            self._followed[successor.follows] = successor
            last_of[tail.id] = successor.id
            lined_up.append(successor)
        return lined_up

    def _drop_from_queue(self, started: list[QueuedJob]) -> None:
        if self._queue[: len(started)] == started:  # nearly always it is the first who start
            del self._queue[: len(started)]
        else:
            self._queue = [job for job in self._queue if job not in started]

    def _attempt_of(self, job: QueuedJob, holds: tuple[tuple[str, int], ...], now: float) -> LiveAttempt:
        number = job.attempts + 1
        folder = self.folder.run_folder(job.project, job.name, job.id)
        attempt = LiveAttempt(
            number=number,
            job=job,
            keeper=self.engine.keeper,
            holds=holds,
            started_at=now,
            log=job.outfile or f"{folder}/attempt-{number}.log",
            job_host_id=self.host.id,
        )
        self.live[attempt.id] = attempt
        return attempt

    def _record_stops(self, decision: Decision, now: float) -> None:
        for stop in decision.stops:
            attempt = stop.attempt
            if attempt.stop_began_at is None:
                detail = f"over its time limit of {attempt.job.timeout_s:g} s" if attempt.job.timeout_s else ""
                self.begin_stop(attempt, stop.reason, now, detail)
            attempt.stop_step = stop.step
        for notice in decision.notices:
            notice.attempt.noticed = True

    def begin_stop(self, attempt: LiveAttempt, reason: Outcome | None, now: float, detail: str) -> None:
        self.store.stopping(attempt, reason, now, detail)
        attempt.stopped_for = reason
        attempt.stop_began_at = now

    # -- act --------------------------------------------------------------------------------------------------

    def _act(self, starts: Sequence[LiveAttempt], lined_up: Sequence[LiveAttempt], decision: Decision) -> None:
        orders = [self._order(attempt) for attempt in starts]
        if len(orders) > 1:
            # Half of the starts are done when this dies: the other half must still come back to the queue.
            self.engine.start(orders[:1])
            reach("half-acted")
            orders = orders[1:]
        self.engine.start(orders)
        for successor in lined_up:  # after the starts: they may be the ones to follow
            self.engine.line_up(self._order(successor))
        for notice in decision.notices:
            if notice.attempt.job.notice_signal is not None:
                self.engine.notice(notice.attempt, notice.attempt.job.notice_signal)
        for stop in decision.stops:
            self.engine.stop(stop.attempt, stop.step)
        if self._gpu_freed:
            self.host.ring_others()

    def _order(self, attempt: LiveAttempt) -> StartOrder:
        folder = self.folder.run_folder(attempt.job.project, attempt.job.name, attempt.job.id)
        return StartOrder(attempt, folder, extra_environment(attempt, folder))

    def _tell(self, starts: Sequence[LiveAttempt]) -> None:
        for ended, verdict, at in self._told:
            self.observer.ended(ended, verdict, at)
        for attempt in starts:
            self.observer.started(attempt)

    # -- waiting ----------------------------------------------------------------------------------------------

    def _rung(self) -> None:
        self.host.hush()
        self._woken = True

    def _until_tick_s(self) -> float | None:
        """How long nothing needs to be done, if nothing happens; None: for ever."""
        if self._in_trouble:
            return None
        if self._woken or self.inbox or self.stop_all or (self._queue_stale and self.dispatching):
            return 0
        now = time.time()
        dues = [at for at in (self._wake_at, self._next_delayed) if at is not None]
        if self._reports:
            dues.append(self._ticked_at + _BATCH_S if self._all_lined_up() else now)
        return max(min(dues) - now, 0) if dues else None

    def _all_lined_up(self) -> bool:
        """Whether every device has its next jobs lined up, so that the ends of short jobs can be written together."""
        lined_up = self.engine.lined_up()
        return self.dispatching and lined_up > len(self.live) - lined_up

    def _survive(self, error: StateError) -> None:
        """The tick could not be written. Nothing was done; what was seen is kept, and all is read anew."""
        if not self._was_in_trouble:
            self.observer.trouble(str(error))
        self._in_trouble = self._was_in_trouble = True
        self._woken = True

        def try_again() -> None:
            try:
                self.recovery.forget_unwritten()
                self._in_trouble = False
            except StateError:
                self.reactor.later(_TROUBLE_S, try_again)

        self.reactor.later(_TROUBLE_S, try_again)
