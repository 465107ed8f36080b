"""The local engine: starts attempts, notices their ends, adopts those of dead hosts, stops whole process trees."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import (
    CoreTime,
    Ended,
    Gone,
    NeverBegan,
    NotStarted,
    Reactor,
    Report,
    Started,
    StartOrder,
    Vanished,
)
from duckrow.engines.local.adopting import Adopting
from duckrow.engines.local.adoption import end_of, ended_unseen
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.keeper.journal import LEFT, SILENT, Record, remove_if_unkept
from duckrow.engines.local.keeper.keeper import keep_own_children
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.engines.local.keeper.unnamed_child import find_of_starters
from duckrow.engines.local.kernel_kills import KernelKills
from duckrow.engines.local.leftovers import say_what_is_left
from duckrow.engines.local.lines import Lines
from duckrow.engines.local.preload.preloading import PreloadedParents
from duckrow.engines.local.processes.attempt_processes import AttemptProcesses
from duckrow.engines.local.processes.children import Children
from duckrow.engines.local.processes.end_watch import EndWatch
from duckrow.engines.local.processes.processes import attempts_of, describe, tag_of
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.starters import Starters
from duckrow.kernel.core_time import core_time
from duckrow.kernel.process import identity_of

# How long the report of a start may wait for the report of its end: a short job then costs one write, not two.
_COALESCE_S = 0.005
_FIRST_LOOK_S, _KILL_AGAIN_S, _LONGEST_LOOK_S = 0.002, 0.01, 0.5
_LOG_S = 1.0  # how long the end of an attempt may wait for the rest of its capped log
_LINGER_S = (0.01, 0.03, 0.06)  # many programs leave helpers that end by themselves a moment later
# Problems of the machine, not of the job: the same start may work later.
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EIO)


class LocalEngine:
    def __init__(
        self,
        reactor: Reactor,
        keepers_folder: str,
        link: KeeperLink,
        variables_of: Callable[[int], dict[str, str]],
        output: str = "log",
        bytecode_folder: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._reactor = reactor
        self._folder = keepers_folder
        self._journal = link.journal
        self._link = link
        self._preloaded = PreloadedParents(reactor, bytecode_folder)
        self._groups = AttemptGroups(reactor, keepers_folder, link.journal.name)
        self._spawner = Spawner(link, variables_of, output, self._preloaded, self._groups)
        self._writes_logs = output == "log"
        self._starters = Starters(link.journal, self._spawner, reactor, link.fd, self._look_at_starters)
        self._children = Children(self._starters.pids)
        self._processes = AttemptProcesses(
            link.journal.name,
            self._children,
            self._groups,
            in_our_session=output == "terminal",
            may_be_attempt=self._starters.have_died,
        )
        self._watched: dict[int, LiveAttempt] = {}
        self._ends = EndWatch(reactor)
        self._adopting = Adopting(
            reactor, keepers_folder, self._watched, self._processes, self._groups, self._ends, self._learned
        )
        self._logs_open: set[int] = set()  # attempts whose capped log the keeper is still writing
        self._late: dict[int, tuple[Ended, bool]] = {}  # how those have ended, and whether processes are left
        self._starts: deque[tuple[float, LiveAttempt]] = deque()  # not yet reported, with the time when they should be
        self._reports: list[Report] = []
        self._for_preloaded: dict[int, StartOrder] = {}  # attempt -> its order, while its preloaded parent imports
        self._kernel_kills = KernelKills()
        self._lines = Lines(self._watched, self._starters, self._spawner, self._kernel_kills, self.start)
        self._preloaded.on_ready = self._parent_ready
        reactor.on_signal(signal.SIGCHLD, self._look_at_children)
        reactor.watch(link.fd, self._log_emptied)

    # -- what the scheduler asks for --------------------------------------------------------------------------

    @property
    def keeper(self) -> str:
        """The name of the journal for the next attempts."""
        return self._journal.name

    def begin(self, keepers_in_use: set[str], let_go: Callable[[], None]) -> None:
        for name in os.listdir(self._folder):
            if name not in keepers_in_use and name != self._journal.name:
                remove_if_unkept(os.path.join(self._folder, name))

        def become_keeper() -> None:
            """Our keeper was killed: if we died too, nobody would see how our attempts end."""
            self._starters.end_all()  # or they begin what our successor queues again
            let_go()
            keep_own_children(self._link)

        if not self._ends.watch(self._link.keeper_pid, become_keeper):
            become_keeper()

    def start(self, orders: Sequence[StartOrder]) -> None:
        for order in orders:
            self._watched[order.attempt.id] = order.attempt
        orders = [order for order in orders if not self._set_aside(order)]
        if not orders:
            return
        try:
            self._journal.begin([order.attempt.id for order in orders])
        except OSError as error:
            for order in orders:
                self._refuse(order.attempt.id, error)
            return
        for order in orders:
            try:
                self._start(order)
            except OSError as error:
                self._refuse(order.attempt.id, error)
            except ValueError as error:
                self._refuse(order.attempt.id, OSError(errno.EINVAL, str(error)))

    def line_up(self, order: StartOrder) -> None:
        self._lines.add(order)

    def lined_up(self) -> int:
        return len(self._lines)

    def follow_up(self) -> None:
        if self._reactor.heard(signal.SIGCHLD):
            self._look_at_children()
        self._starters.send()

    def stand_down(self, attempt: LiveAttempt) -> bool:
        return self._lines.stand_down(attempt)

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        attempts = list(attempts)
        self._groups.find_again([] if rebooted else attempts)
        for attempt in attempts:
            self._watched[attempt.id] = attempt
            attempt.note_kernel_kills(self._kernel_kills.count())
            if rebooted:
                self._processes.rebooted.add(attempt.id)
            self._adopting.settle(attempt)

    def settled(self) -> None:
        """All that we have told is on disk, so the kernel may forget it too."""
        if self._children.any_told:
            self._processes.pids_become_free()
            self._children.settle()
        self._starters.settle()
        if self._journal.is_long:
            self._journal.compact(self._children.attempts | self._starters.attempts, self._starters.pids)

    def signal_all(self, attempt: LiveAttempt, number: int) -> bool:
        self._make_own(attempt)
        return self._processes.signal_all(attempt, number)

    def notice(self, attempt: LiveAttempt, number: int) -> bool:
        self._make_own(attempt)
        return self._processes.notice(attempt, number)

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        self._make_own(attempt)
        if self._for_preloaded.pop(attempt.id, None) is not None:
            self._report(NeverBegan(attempt.id))
        elif step == 1:
            self._processes.ask_to_end(attempt)
        else:
            self._kill(attempt.id, _KILL_AGAIN_S)

    def reports(self) -> list[Report]:
        self._hear_starters()
        self._starters.send()
        self._starters.tell()
        self._children.tell()
        reports, self._reports = self._reports, []
        return reports

    def owners_of(self, pids: Iterable[int], attempts: Iterable[LiveAttempt]) -> dict[int, int]:
        pids = list(pids)
        tags = {tag_of(attempt.keeper, attempt.id): attempt.id for attempt in attempts} if pids else {}
        return attempts_of(pids, tags, lambda journal: os.path.exists(os.path.join(self._folder, journal)))

    def ran_out_of_memory(self, attempt: LiveAttempt) -> bool | None:
        return self._kernel_kills.since(attempt.kernel_kills)

    def core_time(self) -> CoreTime | None:
        found = core_time(os.sched_getaffinity(0))
        return None if found is None else CoreTime(*found)

    def close(self, keepers_in_use: set[str]) -> None:
        """Let go. Attempts keep running, and the journal records their ends. A journal that nobody needs is removed."""
        self._starters.let_go()
        self._groups.close()
        self._spawner.close()
        self._preloaded.close()
        self._starters.close()
        if self._journal.name not in keepers_in_use:
            self._journal.remove()

    # -- starting ---------------------------------------------------------------------------------------------

    def _set_aside(self, order: StartOrder) -> bool:
        """Whether it waits for its preloaded parent. It is not in the journal yet: if we die, it is queued again."""
        if order.attempt.job.preload is None:
            return False
        try:
            waits = self._spawner.waits_for_parent(order)
        except OSError:
            return False  # its start will report what is wrong
        order.attempt.await_parent(waits)
        if waits:
            self._for_preloaded[order.attempt.id] = order
        return waits

    def _parent_ready(self) -> None:
        orders, self._for_preloaded = list(self._for_preloaded.values()), {}
        self.start(orders)

    def _start(self, order: StartOrder) -> None:
        attempt = order.attempt
        attempt.note_kernel_kills(self._kernel_kills.count())
        attempt.begin(self._reactor.now())  # what has taken time since the decision is not the job's
        pid = self._spawner.start(order)
        self._journal.started(attempt.id, pid)
        if attempt.job.max_log_bytes is not None and self._writes_logs:
            self._logs_open.add(attempt.id)
        self._has_child(attempt, pid)
        self._tell_start(attempt)

    def _has_child(self, attempt: LiveAttempt, pid: int) -> None:
        self._children.add(pid, attempt.id)
        self._processes.became_attempt(pid)
        attempt.has_process(pid)

    def _tell_start(self, attempt: LiveAttempt) -> None:
        """Report its start if it lasts a moment."""
        due_mono = attempt.started.mono + _COALESCE_S
        if not self._starts:
            self._reactor.later(due_mono - time.monotonic(), self._tell_starts)
        self._starts.append((due_mono, attempt))

    def _tell_starts(self) -> None:
        """Report those that have lasted a moment; look again for the others."""
        now = time.monotonic()
        while self._starts and self._starts[0][0] <= now:
            _, attempt = self._starts.popleft()
            if attempt.pid is not None and self._children.lives(attempt):
                self._report_start(attempt, attempt.pid, identity_of(attempt.pid))
        self._journal.catch_up()
        if self._starts:
            self._reactor.later(self._starts[0][0] - now, self._tell_starts)

    def _report_start(self, attempt: LiveAttempt, pid: int, process: str) -> None:
        self._reports.append(Started(attempt.id, pid, process))
        self._groups.expect(attempt, process)

    def _refuse(self, attempt_id: int, error: OSError) -> None:
        self._spawner.take_back(attempt_id)
        reason = f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror or error}"
        self._report(NotStarted(attempt_id, reason, error.errno in _PASSING))

    # -- ending -----------------------------------------------------------------------------------------------

    def _look_at_children(self) -> None:
        self._take_over()
        any_ended = False
        while ends := self._children.see_ends():  # again: while we started the next, others may have ended
            any_ended = True
            for end in ends:
                self._own_ended(*end)
        self._preloaded.reap()
        if not any_ended:
            self._processes.meet_orphans(self._preloaded.pids)
        self._processes.reap_orphans()

    def _own_ended(self, attempt_id: int, exit_code: int | None, number: int | None) -> None:
        at = self._link.ended_at(attempt_id) or time.time()
        leftovers = self._processes.may_be_left(attempt_id, self._preloaded.pids)
        if not leftovers and self._ends_plainly(attempt_id):
            place = len(self._reports)
            successor = self._gone(attempt_id)  # first of all: its devices are to be idle as briefly as possible
            self._children.report(attempt_id)
            silent = self._spawner.keep_folder(attempt_id)
            self._reports.insert(place, Ended(attempt_id, exit_code, number, at, (), silent))
            if successor is not None:
                self._lines.make_ready_behind(successor)
            return
        silent = not leftovers and self._spawner.keep_folder(attempt_id)
        self._spawner.forget_folder(attempt_id)
        end = Ended(attempt_id, exit_code, number, at, (), silent)
        if attempt_id in self._logs_open:
            self._reactor.later(_LOG_S, lambda: self._log_complete(attempt_id))
            self._late[attempt_id] = (end._replace(silent=False), leftovers)
            return
        self._ended(end, leftovers)

    def _ends_plainly(self, attempt_id: int) -> bool:
        """Whether nothing needs a second look: nobody stops it, its log is complete, and it has no cgroup."""
        attempt = self._watched.get(attempt_id)
        is_watched = attempt is not None and attempt.stop is None
        return is_watched and attempt_id not in self._logs_open and attempt_id not in self._groups

    def _log_emptied(self) -> None:
        attempt_id = self._link.emptied()
        if attempt_id is None:
            self._reactor.unwatch(self._link.fd)  # the keeper is dead
        else:
            self._log_complete(attempt_id)
            if self._link.has_news:
                self._reactor.later(0, self._log_emptied)

    def _log_complete(self, attempt_id: int) -> None:
        self._logs_open.discard(attempt_id)
        late = self._late.pop(attempt_id, None)
        if late is not None:
            self._ended(*late)

    def _ended(self, end: Ended, may_leave: bool, waits: Sequence[float] = _LINGER_S) -> None:
        """Report the end, once helpers that end by themselves have ended."""
        attempt = self._watched.get(end.attempt_id)
        if attempt is None:
            return
        is_stopped = attempt.stop is not None  # then nothing of it may be left
        looks = may_leave or is_stopped
        remaining = self._processes.of(attempt) if looks else []
        if remaining and waits and not is_stopped:
            self._reactor.later(waits[0], lambda: self._ended(end, may_leave, waits[1:]))
            return
        if looks and not remaining:
            remaining = self._processes.runaways(attempt, self._preloaded.pids)
        if attempt.id in self._groups:
            oom_killed, peak_mb = self._groups.oom_killed(attempt.id), self._groups.peak_mb(attempt.id)
            end = end._replace(oom_killed=oom_killed, host_peak_mb=peak_mb)
        if remaining:
            end = end._replace(leftovers=tuple(describe(process) for process in remaining))
        self._report(end)
        if remaining:
            if self._writes_logs and not is_stopped:
                say_what_is_left(attempt.log, remaining)
            self._await_leftovers(attempt.id)

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        attempt_id = report.attempt_id
        if isinstance(report, Ended):
            self._children.report(attempt_id)
            self._starters.report(attempt_id)
        if isinstance(report, Started) or (isinstance(report, (Ended, Vanished)) and report.leftovers):
            return
        self._gone(attempt_id)

    def _gone(self, attempt_id: int) -> LiveAttempt | None:
        """Nothing is left of it: the attempt that follows it begins, if there is one."""
        self._watched.pop(attempt_id, None)
        self._processes.gone(attempt_id)
        return self._lines.start_next(attempt_id)

    # -- starters ---------------------------------------------------------------------------------------------

    def _look_at_starters(self) -> None:
        """Hear what they have done, and report those that have lasted a moment."""
        self._hear_starters()
        began_before = time.monotonic() - _COALESCE_S
        running = [
            (attempt, pid) for attempt, pid in self._starters.unreported() if attempt.started.mono < began_before
        ]
        if not running:
            return
        found = [(attempt, pid, identity_of(pid)) for attempt, pid in running]
        self._hear_starters()  # before a PID becomes free, its starter writes down that the attempt has ended
        for attempt, pid, process in found:
            if self._starters.know_of_start(attempt.id) and process:
                self._report_start(attempt, pid, process)
        self._journal.catch_up()

    def _hear_starters(self) -> None:
        """What became of the attempts that starters have."""
        for order, record in self._starters.news():
            attempt = order.attempt
            if record.by_starter:
                self._watched[attempt.id] = attempt
                now = self._reactor.now()
                attempt.begin(now.ago(now.boot - record.begun_boottime))
            if record.pid is not None:
                attempt.has_process(record.pid)
            if record.has_ended:
                self._ended_elsewhere(attempt, record)

    def _ended_elsewhere(self, attempt: LiveAttempt, record: Record) -> None:
        """A starter saw its end."""
        leaves = record.how == LEFT or attempt.id in self._groups
        if leaves:
            self._take_over()  # its starter has ended, and what it left is ours
            self._children.left(attempt.id)
            self._processes.pid_was_its_own(attempt.id, record.ended_boottime)
        self._ended(end_of(attempt.id, record, silent=record.how == SILENT), may_leave=leaves)

    def _make_own(self, attempt: LiveAttempt) -> None:
        """If a starter has begun it, end the starter: the kernel then makes us its parent."""
        self._hear_starters()
        while self._starters.end_that_of(attempt.id):
            self._take_over()

    def _take_over(self) -> None:
        """Look after what starters had to do that are dead."""
        dead = self._starters.take_dead()
        if not dead:
            return
        self._hear_starters()  # what they wrote last
        running, waiting = self._starters.unfinished(dead)
        pids = {order.attempt.id: order.attempt.pid for order in running}
        found = find_of_starters(self._journal, pids, lambda: self._processes.strangers(self._preloaded.pids))
        for order in running:
            attempt = order.attempt
            if attempt.id in found.pids:
                is_new = attempt.pid is None
                self._has_child(attempt, found.pids[attempt.id])
                if is_new:
                    self._tell_start(attempt)
            elif attempt.id in found.never_began:
                self.start([order])
            else:
                self._vanished(attempt, ended_unseen(attempt.id))
        for order in waiting:
            self._lines.add_here(order)
        self._reactor.later(0, self._look_at_children)  # the kernel told others of their ends

    # -- leftovers --------------------------------------------------------------------------------------------

    def _await_leftovers(self, attempt_id: int) -> None:
        """Wait until the first of them ends, then look again."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        remaining = self._processes.left_of(attempt, self._preloaded.pids)
        if not remaining:
            self._report(Gone(attempt_id))
        elif not self._ends.watch(remaining[0].pid, lambda: self._await_leftovers(attempt_id)):
            self._reactor.later(_FIRST_LOOK_S, lambda: self._await_leftovers(attempt_id))

    def _kill(self, attempt_id: int, wait_s: float) -> None:
        """Repeat until nothing is left: a process may have forked while it was being killed."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        self._processes.kill(attempt, self._preloaded.pids)
        wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
        self._reactor.later(wait_s, lambda: self._kill(attempt_id, wait_s))

    def _learned(self, attempt: LiveAttempt, report: Report) -> None:
        """What became of an attempt that another host has started."""
        if isinstance(report, Ended):
            self._ended(report, may_leave=True)
        elif isinstance(report, Vanished):
            self._vanished(attempt, report)
        else:
            self._report(report)

    def _vanished(self, attempt: LiveAttempt, end: Vanished) -> None:
        """Its devices are free when nothing of it is left, however we learned of its end."""
        remaining = self._processes.left_of(attempt, self._preloaded.pids)
        self._report(end._replace(leftovers=tuple(describe(process) for process in remaining)))
        if remaining:
            self._await_leftovers(attempt.id)
