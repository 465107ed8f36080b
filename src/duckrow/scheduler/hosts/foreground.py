"""`duckrow run`: the loop in the foreground, over commands that come from a file or a pipe."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence

from duckrow.core.errors import UsageError
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import CommandReader
from duckrow.core.jobs.job import JobSpec, QueuedJob
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome, State
from duckrow.scheduler.devices.neighbours import why_nothing_starts
from duckrow.scheduler.hosts.command_source import CommandSource
from duckrow.scheduler.hosts.earlier_jobs import EarlierJobs, KnownJob
from duckrow.scheduler.hosts.signals import HostSignals
from duckrow.scheduler.loop import Loop
from duckrow.store.hosts import HostStore
from duckrow.store.jobs.jobs import JobStore

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.core.schedule.run_times import RunTimes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_SILENCE_S = 1.0  # a run that has started nothing for this long says why


def _do_nothing() -> None: ...


class ForegroundRun:
    """One `duckrow run`, from its first command to its last end."""

    def __init__(
        self,
        loop: Loop,
        signals: HostSignals,
        make_spec: Callable[[str], JobSpec],
        max_failures: int | None = None,
        on_event: Callable[[str, Any], None] = lambda *_: None,
        in_terminal: bool = False,
    ) -> None:
        self.loop = loop
        self._signals = signals
        self.make_spec = make_spec
        self.max_failures = max_failures
        self.source: CommandSource | None = None
        self.interrupts = 0
        self.hung_up = False
        self.added = 0
        self.succeeded_before = 0
        self.skipped = 0  # queued jobs of an earlier run that are no longer wanted
        self.refused = 0
        self.failures = 0
        self.gave_up = False
        self.by_memory = False  # its jobs may share GPUs
        self.earlier: EarlierJobs | None = None
        self._told_of_pause = False
        self._told_of_wait: bool | None = False  # None: we are about to say it
        self._reads_otherwise = False
        self._accept: Callable[[], None] = lambda: None
        self._rerun: list[int] = []
        self._listed: list[int] = []  # may start now
        self._skip: list[int] = []
        self._on_event = on_event
        self._in_terminal = in_terminal  # one command that has the terminal and gets Ctrl-C itself
        self._jobs = JobStore(loop.database)
        loop.tell_ends(self._note_end, self._note_back)
        if in_terminal:
            loop.never_set_gpus_aside()  # you see how it ends
        loop.state.look_ahead(max_failures is None)  # a run that may have to stop early must not look ahead

    # -- what a view may ask ----------------------------------------------------------------------------------

    @property
    def host_id(self) -> int:
        return self.loop.host.id

    @property
    def reading(self) -> bool:
        return self.source is not None and not self.source.ended

    @property
    def unlisted(self) -> int:
        """Queued jobs of an earlier run whose lines have not been read."""
        return len(self.loop.state.withheld)

    @property
    def running(self) -> list[LiveAttempt]:
        return self.loop.state.running

    @property
    def waiting(self) -> list[QueuedJob]:
        return self.loop.state.queue.jobs

    @property
    def run_times(self) -> RunTimes | None:
        return self.loop.run_times

    @property
    def seat_count(self) -> int:
        return len(self.loop.state.seats)

    @property
    def waits_for(self) -> list[str]:
        return why_nothing_starts(self.loop.state, self.loop.watch) if self._waits else []

    # -- commands ---------------------------------------------------------------------------------------------

    def last_freed_first(self) -> None:
        """If several places are free, use the one that was listed or freed last."""
        self.loop.state.take_last_freed_first()

    def start_one_by_one(self) -> None:
        """Do not line up jobs: a start that is announced must happen now."""
        self.loop.state.look_ahead(False)

    def read(self, fd: int, reader: CommandReader) -> None:
        self.source = CommandSource(fd, reader, self.take)

    def take(self, given: CommandList) -> None:
        for number, command in enumerate(given.commands):
            try:
                spec = self.make_spec(command)
            except UsageError as error:
                self.refused += 1
                self._on_event("refused", given.told(number, error))
                continue
            known = self.earlier.match(spec.command) if self.earlier else None
            if known is not None:
                self._continue(known)
            else:
                self.loop.state.take_in(spec)
                self.added += 1

    def take_jobs(
        self, specs: Sequence[JobSpec], again: Sequence[int], stranded: Sequence[int], environment: Mapping[str, str]
    ) -> None:
        """Add these, and take over jobs that are done or wait for a dead host. Skip what else was queued here."""
        store, now = self.loop.store, time.time()
        wanted = {*again, *stranded}
        with self.loop.database.transaction():
            ours = store.queue.unfinished()
            others = [job_id for job_id, state in ours if state == State.QUEUED and job_id not in wanted]
            running = sum(state != State.QUEUED for _, state in ours)
            self.skipped += store.moves.skip_queued(others, now, "no longer asked for")
            store.queue.rehost(stranded)
            for job_id in again:
                store.reruns.rerun(job_id, now, self.host_id)
            self._jobs.add(self.host_id, specs, environment)
        self.added += len(specs) + len(wanted) + running

    def resume(
        self,
        hosts: HostStore,
        rerun_all: bool,
        reads_otherwise: bool = False,
        accept: Callable[[], None] = lambda: None,
    ) -> None:
        """Continue what this host had begun. `rerun_all`: there is no list of commands to match against.

        A queued job starts once its line has been read: until then, it may be one whose line has gone.
        `reads_otherwise`: the format or the delimiter is another one than before. `accept` is called when the list has
        been read to its end and makes sense.
        """
        earlier = EarlierJobs(hosts.jobs_of(self.loop.host.id))
        if rerun_all:
            for known in earlier.rest():
                self._continue(known)
            return
        self.earlier, self._reads_otherwise, self._accept = earlier, reads_otherwise, accept
        self.loop.state.withhold(earlier.waiting())

    def _continue(self, known: KnownJob) -> None:
        if known.outcome == Outcome.SUCCEEDED:
            self.succeeded_before += 1
            return
        self.added += 1
        (self._rerun if known.state == State.DONE else self._listed).append(known.id)

    def _requeue_earlier(self) -> None:
        """Jobs of the earlier run that did not succeed go back to the queue; those no longer listed are skipped."""
        if self.earlier is not None and self.source is not None and self.source.ended:
            self._end_list(self.earlier, self.source)
            self.earlier = None
        if not (self._rerun or self._listed or self._skip):
            return
        store, now = self.loop.store, time.time()
        with self.loop.database.transaction():
            for job_id in self._rerun:
                store.reruns.rerun(job_id, now, self.loop.host.id)
            self.skipped += store.moves.skip_queued(self._skip, now, "no longer in the list of commands")
        # All at once, so that they start in the order of the queue.
        self.loop.state.give_back([*self._listed, *self._skip])
        self._rerun, self._listed, self._skip = [], [], []

    def _end_list(self, earlier: EarlierJobs, source: CommandSource) -> None:
        """A job is dropped only if the whole list was read, and makes sense: else its line may be in what is left."""
        if not source.is_whole:
            return
        waiting = earlier.waiting()
        if self.refused or (self._reads_otherwise and earlier.rest() and not earlier.matched):
            if waiting or self._reads_otherwise:
                self._on_event("unlisted", (len(waiting), self._reads_otherwise))
            return
        self._skip = waiting
        self._accept()

    # -- going ------------------------------------------------------------------------------------------------

    def go(self, pulse_s: float | None = None, pulse: Callable[[], None] = lambda: None) -> None:
        """Until all is done. `pulse` is called at least every `pulse_s`, to draw."""
        self._catch_signals()
        self.loop.begin()
        if self.source is not None:
            self.source.attach(self.loop.reactor)
            self.loop.reactor.later(_SILENCE_S, self._tell_of_unread)
        while not self._over():
            self.loop.turn(pulse_s)
            self._requeue_earlier()
            if (
                not self.loop.state.live
                and not self._told_of_pause
                and (paused := self.loop.store.queue.paused_projects())
            ):
                self._told_of_pause = True
                self._on_event("paused", paused)
            self._tell_of_wait()
            pulse()

    @property
    def _waits(self) -> bool:
        state = self.loop.state
        return state.jobs_wait and not state.runs_own and state.dispatching

    def _tell_of_wait(self) -> None:
        """A run in which nothing starts says why, once each time."""
        if not self._waits:
            self._told_of_wait = False if self.loop.state.live else self._told_of_wait
        elif self._told_of_wait is False:
            self._told_of_wait = None
            self.loop.reactor.later(_SILENCE_S, self._tell_now)

    def _tell_now(self) -> None:
        reasons = self.waits_for
        self._told_of_wait = bool(reasons)
        if reasons:
            self._on_event("waiting", reasons)

    def _tell_of_unread(self) -> None:
        """Whoever resumes from a pipe that goes on sees why earlier jobs do not start."""
        if self.reading and self.unlisted:
            self._on_event("unread", self.unlisted)

    @property
    def starts_more(self) -> bool:
        return not (self.interrupts or self.gave_up)

    def _over(self) -> bool:
        if not self.starts_more:
            return not self.loop.state.runs_own
        if self._rerun or self._listed or self._skip or self.reading:
            return False
        return self.loop.idle()

    def _note_end(self, attempt: LiveAttempt, verdict: Verdict) -> None:
        """Called for each end: enough failures end the run."""
        if attempt.job_host_id != self.host_id or verdict.again or verdict.outcome is Outcome.SUCCEEDED:
            return
        self.failures += 1
        if self.max_failures is not None and self.failures >= self.max_failures and not self.gave_up:
            self.gave_up = True
            self._start_nothing_more()
            self._on_event("gave-up", self.failures)

    def _note_back(self, job_id: int) -> None:
        """A failure for which the GPU was to blame, not the job."""
        self.failures -= 1

    # -- signals ----------------------------------------------------------------------------------------------

    def _catch_signals(self) -> None:
        for number in SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # `nohup duckrow run`
            only_ours = self._pass_on_ctrl_c if number == signal.SIGINT else _do_nothing
            self._signals.on(number, lambda number=number: self._signalled(number), only_ours)  # type: ignore[misc]

    def _signalled(self, number: int) -> None:
        if self._in_terminal and self.loop.state.live:
            self._leave_to_job(number)
            return
        if number == signal.SIGHUP:
            self.hung_up = True
            if self.interrupts:
                return  # the terminal went away while we were ending anyway
        self.interrupts += 1
        self._start_nothing_more()
        if self.interrupts > 1:
            self.loop.state.end_all(at_once=self.interrupts > 2)
        self._on_event("interrupted", self.interrupts)

    def _leave_to_job(self, number: int) -> None:
        """The terminal sent Ctrl-C to the job too, which handles it itself. SIGTERM came only to us."""
        if number == signal.SIGTERM:
            self.loop.state.end_all()

    def _pass_on_ctrl_c(self) -> None:
        """SIGINT came from a process, and only to us: the command would never hear of it."""
        for attempt in self.running if self._in_terminal else ():
            self.loop.engine.signal_all(attempt, signal.SIGINT)

    def _start_nothing_more(self) -> None:
        self.loop.state.dispatch(False)
        if self.source is not None:
            self.source.stop()

    def drop_rest(self) -> None:
        """Jobs that have not started never will."""
        with self.loop.database.transaction():
            waiting = [job_id for job_id, state in self.loop.store.queue.unfinished() if state == State.QUEUED]
            self.loop.store.moves.skip_queued(waiting, time.time(), "the run has ended")

    def close(self) -> None:
        self.loop.close()
