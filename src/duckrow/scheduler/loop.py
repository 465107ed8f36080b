"""The loop: observe, decide, record, act. Whatever instant it dies at, what is on disk tells what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from duckrow.core.clock import Now
from duckrow.core.decide import Decision, decide
from duckrow.core.errors import StateError
from duckrow.core.inventory import CPU, Ledger, Seat, book, unbook
from duckrow.core.job import JobSpec, LiveAttempt, QueuedJob
from duckrow.core.lifecycle import Outcome
from duckrow.core.machine import BARE, Machine
from duckrow.core.ports import Engine, GpuReader, Observer, Reactor, Report, StartOrder
from duckrow.core.retry import Verdict
from duckrow.scheduler.broken_gpus import BrokenGpus
from duckrow.scheduler.clock_steps import ClockSteps
from duckrow.scheduler.company import note_own_neighbours
from duckrow.scheduler.crashpoints import reach
from duckrow.scheduler.delays import Delays
from duckrow.scheduler.drains import Drains
from duckrow.scheduler.endings import Endings
from duckrow.scheduler.host import Host
from duckrow.scheduler.limits import Limits
from duckrow.scheduler.lines import SLOW_S, Lines
from duckrow.scheduler.own_files import OwnFiles
from duckrow.scheduler.queue_head import QueueHead
from duckrow.scheduler.recover import Recovery
from duckrow.scheduler.sharing import Sharing
from duckrow.scheduler.surroundings import extra_environment, gentle_environment, launcher_environment
from duckrow.scheduler.suspending import resume
from duckrow.scheduler.watch import Watch
from duckrow.scheduler.wishes import fulfil_wishes, kill_live
from duckrow.store.checkpoint import Checkpointer
from duckrow.store.database import Database
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs import JobStore
from duckrow.store.tick import TickStores

_BATCH_S = 0.01  # how long the ends of short jobs may wait to be written together
_TROUBLE_S = 2.0  # how long to wait before trying again when the disk is full or the database cannot be written


class Loop:
    def __init__(
        self,
        database: Database,
        host: Host,
        seats: Sequence[Seat],
        engine: Engine,
        reactor: Reactor,
        open_reader: Callable[[Reactor], GpuReader],
        observer: Observer | None = None,
        machine: Machine = BARE,
    ) -> None:
        self.database = database
        self.folder = host.folder
        self.host = host
        self.seats = list(seats)
        self.observer = observer or Observer()
        self.reactor = reactor
        self.engine = engine
        self.store = TickStores(database, host.id)
        self.jobs = JobStore(database)
        self._checkpointer = Checkpointer(database)
        self.recovery = Recovery(self)
        self.lines = Lines(self)
        self.limits = Limits()
        self.drains = Drains(self)
        self.delays = Delays(self)
        self._clock_steps = ClockSteps(self)
        self.endings = Endings(self)
        self.live: dict[int, LiveAttempt] = {}
        self.booked = Ledger()
        self.watch = Watch(self, machine, open_reader)
        self.broken_gpus = BrokenGpus(self)
        self.sharing = Sharing(self, machine.policy.mps)
        self.dispatching = True
        self.on_end: Callable[[LiveAttempt, Verdict], None] = lambda *_: None
        self.on_back: Callable[[int], None] = lambda _: None  # a job that had failed waits again
        self.written_devices: Mapping[str, str] | None = None  # how jobs are to see devices, where not by their names
        self.last_freed_first = False  # which of several free seats is taken; else the first that is listed
        self.stop_all = 0  # 1: end all that we started, 2: at once
        self.inbox: list[JobSpec] = []  # jobs of a run that have come since the last tick
        self.environment: dict[str, str] = {}  # of those
        self._queue = QueueHead(self.store.queue)
        self._reports: list[Report] = []  # seen, and not yet on disk
        self._wake_mono: float | None = None
        self._woken = True
        self._in_trouble = False  # nothing is tried for a while
        self._was_in_trouble = False  # and it was said
        self._ticked_mono = 0.0
        self._closed = False
        self.hear_bell()
        self._own_files = OwnFiles(self)

    # -- the life of the loop ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take up what an earlier process of this host, or a host that died, has left."""
        self.host.announce(self.seats, self.watch.gpus.machine)
        with self.database.transaction():
            self._take_up_clocks()
            self.recovery.adopt_own()
            self.broken_gpus.begin()
        self.engine.begin(self.store.attempts.keepers_in_use(), self._let_go)
        self._own_files.watch()

    def _take_up_clocks(self) -> None:
        self.delays.begin()
        if self.host.previous.boot_id not in ("", self.host.boot_id):
            self.store.readings.forget_all()

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
        now = self.reactor.now()
        self._ticked_mono = now.mono
        with self.database.transaction():
            reach("observed")
            self._observe(now)
            starts, decision = self._decide(now)
            out_of_use = self.drains.devices or self.broken_gpus.devices
            may_look_ahead = self.dispatching and not self.limits.most and not out_of_use
            lined_up = self.lines.grow(self._queue.jobs, now) if may_look_ahead else []
            self._queue.drop([attempt.job for attempt in lined_up])
            reach("decided")
            self.store.attempts.start(starts)
            self.store.attempts.start(lined_up)
            note_own_neighbours(self, starts, now.wall)
            self._record_stops(decision, now)
        reach("recorded")
        self._checkpointer.committed()
        self.watch.read_if_due(now.mono)
        self.engine.settled()
        self._reports = []
        self.inbox = []
        for attempt in (*starts, *lined_up):
            self.observer.starting(attempt)
        self._act(starts, lined_up, decision)
        reach("acted")
        self._tell([*starts, *lined_up])

    def idle(self) -> bool:
        """Nothing runs here and nothing of ours is left to run. A paused or held job is left."""
        ours = any(attempt.job_host_id == self.host.id for attempt in self.live.values())
        if ours or self.inbox or self._queue or self._reports or self._queue.stale or self.store.queue.is_unfinished():
            return False
        return not self.watch.is_looked_for_faults(self.reactor.now().mono)

    @property
    def jobs_wait(self) -> bool:
        return bool(self._queue or self.inbox)

    @property
    def first_in_queue(self) -> QueuedJob | None:
        return self._queue.jobs[0] if self._queue else None

    def close(self) -> None:
        """Let go: what runs goes on, and is found again by the next host."""
        if self._closed:
            return
        self._closed = True
        self.engine.close(self.store.attempts.keepers_in_use())
        self.sharing.close()
        self.delays.close()
        self._checkpointer.finish()
        self.host.close()
        self.host.ring_others()
        self.reactor.close()

    def let_go_of_jobs(self) -> int:
        """Watch the jobs no longer: the database or the folder is gone. How many go on.

        The journal stays: whoever brings the database back finds in it how they ended.
        """
        self._closed = True
        self.finish_checkpoints()
        self.engine.close({self.engine.keeper})
        self.sharing.close()
        try:
            self.host.rows.close(self.host.id)  # into the file that we have open, whatever its name
        except StateError:
            pass
        return sum(attempt.follows is None for attempt in self.live.values())

    def finish_checkpoints(self) -> None:
        self._checkpointer.wait()

    def hear_bell(self) -> None:
        self.reactor.watch(self.host.bell, self._rung)
        self._woken = True  # nobody knows who rang meanwhile

    def _let_go(self) -> None:
        """Be no host any more, which others see at once: the engine can only see its attempts to their ends."""
        self.host.release()
        self.database.close()

    def wake(self) -> None:
        self._woken = True

    def comes_back(self, wait_s: float, now: Now) -> None:
        """A job is queued again, for now or for later."""
        self._queue.stale = True
        self.delays.add(wait_s, now)

    def pending(self) -> set[int]:
        """Attempts of which something was seen that is not yet on disk."""
        return {report.attempt_id for report in self._reports}

    def look_again(self) -> None:
        """The head of the queue that we hold is no longer the head of the queue."""
        self._queue.stale = True

    # -- observe ----------------------------------------------------------------------------------------------

    def _observe(self, now: Now) -> None:
        changed = self.database.changed_by_others() or self._woken
        self._woken = False
        self.broken_gpus.told_back = []
        if changed or self.stop_all or not self.dispatching or self.lines.is_slow(now.mono):
            self.lines.stand_back(now)
        if changed:
            self.host.look_around()
            self.recovery.adopt_orphans()
            self._rebook()
            self.limits.most = self.store.limits.all()
            self.store.dependencies.look()
            self.watch.learning.load()
            self.watch.look_until(self.store.readings.looked_at_until())
            self._queue.stale = True
            self.delays.look()
        if self.inbox:
            self.jobs.add(self.host.id, self.inbox, self.environment, now=now)
            self._queue.grew()
        self.watch.observe(now)
        self.endings.settle(self._reports, now)
        if self.host.id == DAEMON and (changed or (self.drains.devices and self.endings.freed)):
            self.drains.observe()
        if changed:
            self.broken_gpus.look(now)
            fulfil_wishes(self, now)
        if self.stop_all:
            for attempt in self.live.values():
                if attempt.job_host_id == self.host.id or self.host.id == DAEMON:
                    kill_live(self, attempt, now, "interrupted", at_once=self.stop_all > 1)
            self.stop_all = 0
        if self.delays.release(now):
            self._queue.stale = True
        self._clock_steps.look(now)

    def _rebook(self) -> None:
        """What is held: by us, as we know it; by other hosts, as the database says. CPU slots are each host's own."""
        self.booked = Ledger()
        for attempt in self.live.values():
            self.book(attempt)
        for holds in self.store.reservations.of_other_hosts():
            book([hold for hold in holds if not hold[0].startswith(CPU)], self.booked)
        self.limits.elsewhere = self.store.reservations.needs_of_other_hosts()

    def book(self, attempt: LiveAttempt) -> None:
        if attempt.follows is None:
            book(self._counted(attempt), self.booked)

    def unbook(self, attempt: LiveAttempt) -> None:
        unbook(self._counted(attempt), self.booked)
        if self.last_freed_first:
            self.seats.sort(key=lambda seat: seat.holds != attempt.holds)

    def rehold(self, attempt: LiveAttempt, holds: tuple[tuple[str, int], ...]) -> None:
        """The attempt holds another share than before, of the same devices."""
        self.unbook(attempt)
        attempt.holds = holds
        self.book(attempt)
        self.store.reservations.change(attempt)
        self.look_again()
        self.endings.freed = True

    def _counted(self, attempt: LiveAttempt) -> Sequence[tuple[str, int]]:
        if attempt.job_host_id == self.host.id:
            return attempt.holds
        return [hold for hold in attempt.holds if not hold[0].startswith(CPU)]

    # -- decide and record ------------------------------------------------------------------------------------

    def _decide(self, now: Now) -> tuple[list[LiveAttempt], Decision]:
        room = self.limits.room(self.live.values(), self.host.id)
        full = frozenset(scope for scope, left in room.items() if left <= 0)
        queue = self._queue.read_if_needed(full) if self.dispatching else []
        machine = self.watch.machine(queue, now.mono)
        room |= self.limits.of_machine(machine, self.live.values(), queue)
        seats = self.broken_gpus.usable(self.drains.usable(self.seats))
        decision = decide(now.mono, self.live.values(), queue, seats, self.booked, room, machine, self.watch.ask_of)
        self._wake_mono = decision.wake_mono
        starts = [self.new_attempt(start.job, start.holds, now) for start in decision.starts]
        for attempt in starts:
            self.book(attempt)
        self._queue.drop([start.job for start in decision.starts])
        self.watch.started(starts, now.mono)
        return starts, decision

    def new_attempt(self, job: QueuedJob, holds: tuple[tuple[str, int], ...], now: Now) -> LiveAttempt:
        number = job.attempts + 1
        attempt = LiveAttempt(
            number=number,
            job=job,
            keeper=self.engine.keeper,
            holds=holds,
            started=now,
            log=job.outfile or f"{self._folder_of(job)}/attempt-{number}.log",
            job_host_id=self.host.id,
        )
        self.live[attempt.id] = attempt
        return attempt

    def _folder_of(self, job: QueuedJob) -> str:
        return job.folder or self.folder.run_folder(job.project, job.name, job.id)

    def _record_stops(self, decision: Decision, now: Now) -> None:
        for stop in decision.stops:
            attempt = stop.attempt
            if attempt.stop_began_mono is None:
                detail = f"over its time limit of {attempt.job.timeout_s:g} s" if attempt.job.timeout_s else ""
                self.begin_stop(attempt, stop.reason, now, detail)
            attempt.stop_step = stop.step
        for notice in decision.notices:
            notice.attempt.noticed = True

    def begin_stop(self, attempt: LiveAttempt, reason: Outcome | None, now: Now, detail: str) -> None:
        if attempt.suspended_mono is not None:
            resume(self, attempt, now)  # or it could not hear that it must end
        self.store.attempts.stopping(attempt, reason, now, detail)
        attempt.stopped_for = reason
        attempt.stop_began_mono = now.mono

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
        if self.endings.freed:
            self.endings.freed = False
            self.host.ring_others()

    def _order(self, attempt: LiveAttempt) -> StartOrder:
        folder = self._folder_of(attempt.job)
        gentle = launcher_environment(attempt)
        if attempt.job.needs is not None:
            gentle |= gentle_environment(attempt, len(self.seats))
        gentle |= self.sharing.variables(attempt)
        return StartOrder(attempt, folder, extra_environment(attempt, folder, self.written_devices), gentle)

    def _tell(self, starts: Sequence[LiveAttempt]) -> None:
        for ended, verdict, at in self.endings.told:
            self.observer.ended(ended, verdict, at)
        for job_id in self.broken_gpus.told_back:
            self.observer.back(job_id)
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
        if self._woken or self.delays.rang or self.inbox or self.stop_all or (self._queue.stale and self.dispatching):
            return 0
        if self.lines and not self.dispatching:
            return 0
        if self.watch.has_news:
            return 0
        mono = self.reactor.now().mono
        dues = [due for due in (self._wake_mono, self.watch.due_mono(mono)) if due is not None]
        if self.watch.is_looked_for_faults(mono):
            dues.append(self.broken_gpus.unexplained.look_until_mono() or mono)  # the driver may never answer
        if self.lines:
            dues.append(self._ticked_mono + SLOW_S)  # somebody in line may wait behind a slow one
        if self._reports:
            dues.append(self._ticked_mono + _BATCH_S if self._all_lined_up() else mono)
        return max(min(dues) - mono, 0) if dues else None

    def _all_lined_up(self) -> bool:
        """Whether every device has its next jobs lined up, so that the ends of short jobs can be written together."""
        lined_up = self.engine.lined_up()
        return self.dispatching and lined_up > len(self.live) - lined_up

    def _survive(self, error: StateError) -> None:
        """The tick could not be written. Nothing was done; what was seen is kept, and all is read anew."""
        self._own_files.look()  # perhaps that is why
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
