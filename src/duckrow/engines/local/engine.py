"""The local engine: starts attempts, sees them end, adopts those of dead hosts, stops whole process trees."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from duckrow.core.job import LiveAttempt
from duckrow.core.ports import (
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
from duckrow.engines.local import processes
from duckrow.engines.local.journal import Journal, Record, read_journal, remove_if_unkept
from duckrow.engines.local.keeper import KeeperLink
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.warm import Nests, is_of_nest

# How long the news of a start may wait for the news of its end: a short job then costs one write, not two.
_COALESCE_S = 0.005
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.002, 0.5
_LOG_S = 1.0  # how long the end of an attempt may wait for the rest of its capped log
# The machine's trouble, not the job's: the same start may work in a while.
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EIO)


class LocalEngine:
    def __init__(
        self,
        reactor: Reactor,
        keepers_folder: str,
        link: KeeperLink,
        variables_of: Callable[[int], dict[str, str]],
        output: str = "log",
    ) -> None:
        self._reactor = reactor
        self._folder = keepers_folder
        self._journal = link.journal
        self._link = link
        self._nests = Nests(reactor)
        self._spawner = Spawner(link, variables_of, output, self._nests)
        self._writes_logs = output == "log"
        self._children: dict[int, int] = {}  # pid -> attempt, of ours
        self._seen: dict[int, int] = {}  # attempt -> pid, ended and not yet waited for
        self._orphans: set[int] = set()
        self._watched: dict[int, LiveAttempt] = {}
        self._rebooted: set[int] = set()  # attempts of an earlier boot: none of their processes is there
        self._logs_open: set[int] = set()  # attempts whose capped log the keeper is still writing
        self._late: dict[int, tuple[int | None, int | None, float, bool]] = {}  # of those, how they have ended
        self._starts: deque[tuple[float, Started]] = deque()  # not yet told, with the time when they should be
        self._children_list = processes.ChildrenList()
        self._reports: list[Report] = []
        self._lined_up: dict[int, StartOrder] = {}  # attempt -> its successor
        self._waiting: set[int] = set()  # those successors
        self._for_nest: dict[int, StartOrder] = {}  # attempt -> its order, while the warm parent it waits for hatches
        self._nests.on_hatched = self._hatched
        reactor.on_signal(signal.SIGCHLD, self._look_at_children)
        reactor.watch(link.fd, self._log_emptied)

    # -- what the scheduler asks for --------------------------------------------------------------------------

    @property
    def keeper(self) -> str:
        """Names the journal in which the next attempts will stand."""
        return self._journal.name

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
        assert order.attempt.follows is not None
        if order.attempt.follows in self._watched or order.attempt.follows in self._waiting:
            self._waiting.add(order.attempt.id)
            self._lined_up[order.attempt.follows] = order
        else:
            self.start([order])

    def lined_up(self) -> int:
        """How many attempts wait for the end of another."""
        return len(self._lined_up)

    def stand_down(self, attempt: LiveAttempt) -> bool:
        self._waiting.discard(attempt.id)
        return attempt.follows is not None and self._lined_up.pop(attempt.follows, None) is not None

    def adopt(self, attempts: Iterable[LiveAttempt], rebooted: bool) -> None:
        for attempt in attempts:
            self._watched[attempt.id] = attempt
            if rebooted:
                self._rebooted.add(attempt.id)
            self._settle(attempt.id)

    def settled(self) -> None:
        """All that we have reported is on disk: now the kernel may forget it too."""
        for pid in self._seen.values():
            os.waitpid(pid, os.WNOHANG)
        if self._seen:
            self._seen.clear()
            self._journal.compact([(attempt_id, pid) for pid, attempt_id in self._children.items()])

    def signal_all(self, attempt: LiveAttempt, number: int) -> None:
        """To every process of the attempt, such as to suspend it."""
        for process in self._remaining(attempt):
            processes.send(process.pid, number)

    def notice(self, attempt: LiveAttempt, number: int) -> None:
        """Only those who listen are told: the signal would kill a process that has no handler for it."""
        for process in self._remaining(attempt):
            if processes.catches(process.pid, number):
                processes.send(process.pid, number)

    def stop(self, attempt: LiveAttempt, step: int) -> None:
        if self._for_nest.pop(attempt.id, None) is not None:
            self._report(NeverBegan(attempt.id))
            return
        number = signal.SIGTERM if step == 1 else signal.SIGKILL
        leader = attempt.pid
        leads_group = leader is not None and (found := processes.read_process(leader)) and found.session == leader
        if leader is not None and leads_group:
            processes.send_to_group(leader, number)
            processes.send_to_group(leader, signal.SIGCONT)  # one that is suspended could not hear it
        if step == 2 or not leads_group or attempt.exited_at is not None:
            for process in self._remaining(attempt):
                processes.send(process.pid, number)
        if step == 2:
            self._reactor.later(0.02, lambda: self._finish_off(attempt.id, 0.02))

    def reports(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports

    def close(self, keepers_in_use: set[str]) -> None:
        """Let go. Attempts that run go on, and their ends will stand in the journal; one that nobody needs goes."""
        self._spawner.close()
        self._nests.close()
        if self._journal.name not in keepers_in_use:
            self._journal.remove()

    def on_keeper_death(self, call: Callable[[], None]) -> None:
        if not self._watch_end(self._link.keeper_pid, call):
            call()

    def clean_up(self, keepers_in_use: set[str]) -> None:
        """Remove the journals of the dead that have nothing left to tell."""
        for name in os.listdir(self._folder):
            if name not in keepers_in_use and name != self._journal.name:
                remove_if_unkept(os.path.join(self._folder, name))

    # -- starting ---------------------------------------------------------------------------------------------

    def _set_aside(self, order: StartOrder) -> bool:
        """Whether it waits for its warm parent. In the journal it has not begun: if we die, it is queued again."""
        try:
            waits = self._spawner.waits_for_nest(order)
        except OSError:
            return False  # its start will tell what is wrong
        if waits:
            self._for_nest[order.attempt.id] = order
        return waits

    def _hatched(self) -> None:
        orders, self._for_nest = list(self._for_nest.values()), {}
        for order in orders:
            order.attempt.started = self._reactor.now()
        self.start(orders)

    def _start(self, order: StartOrder) -> None:
        attempt = order.attempt
        pid = self._spawner.start(order)
        self._journal.started(attempt.id, pid)
        self._children[pid] = attempt.id
        self._orphans.discard(pid)  # a nest's child until now
        attempt.pid = pid
        if attempt.job.max_log_bytes is not None and self._writes_logs:
            self._logs_open.add(attempt.id)
        if not self._starts:
            self._reactor.later(_COALESCE_S, self._tell_starts)
        self._starts.append((time.monotonic() + _COALESCE_S, Started(attempt.id, pid)))

    def _tell_starts(self) -> None:
        """Those that have lasted a moment; for the others look again."""
        now = time.monotonic()
        while self._starts and self._starts[0][0] <= now:
            _, started = self._starts.popleft()
            if started.pid in self._children:
                self._reports.append(started)
        if self._starts:
            self._reactor.later(self._starts[0][0] - now, self._tell_starts)

    def _refuse(self, attempt_id: int, error: OSError) -> None:
        self._spawner.forget_folder(attempt_id)
        reason = f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror or error}"
        self._report(NotStarted(attempt_id, reason, error.errno in _PASSING))

    # -- ending -----------------------------------------------------------------------------------------------

    def _look_at_children(self) -> None:
        """See who has ended, without waiting for them: until that is on disk, the kernel must remember it."""
        for pid, attempt_id in list(self._children.items()):
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                if processes.read_process(pid) is None:
                    raise
                continue  # a nest has forked it for us; it does not begin before it is our child
            if ended is None:
                continue
            del self._children[pid]
            self._seen[attempt_id] = pid
            if ended.si_code == os.CLD_EXITED:
                self._own_ended(attempt_id, ended.si_status, None)
            else:
                self._own_ended(attempt_id, None, ended.si_status)
        self._reap_strangers()

    def _reap_strangers(self) -> None:
        """Orphans of attempts fell to us; when they end, nobody else waits for them."""
        self._nests.reap()
        ours = self._seen.values()
        for pid in [pid for pid in self._orphans if pid not in ours]:
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._orphans.discard(pid)
            except ChildProcessError:
                self._orphans.discard(pid)

    def _own_ended(self, attempt_id: int, exit_code: int | None, number: int | None) -> None:
        at = self._link.ended_at(attempt_id) or time.time()
        leftovers = self._has_new_orphans()
        silent = not leftovers and self._spawner.keep_folder(attempt_id)
        self._spawner.forget_folder(attempt_id)
        if attempt_id in self._logs_open:
            self._reactor.later(_LOG_S, lambda: self._log_complete(attempt_id))
            self._late[attempt_id] = (exit_code, number, at, leftovers)
            return
        self._ended(attempt_id, exit_code, number, at, leftovers, silent)

    def _log_emptied(self) -> None:
        attempt_id = self._link.emptied()
        if attempt_id is None:
            self._reactor.unwatch(self._link.fd)  # the keeper is dead
        else:
            self._log_complete(attempt_id)

    def _log_complete(self, attempt_id: int) -> None:
        self._logs_open.discard(attempt_id)
        late = self._late.pop(attempt_id, None)
        if late is not None:
            self._ended(attempt_id, *late, silent=False)

    def _has_new_orphans(self) -> bool:
        """Whether processes have lost their parent since we last looked: those that the attempt leaves behind."""
        ours = {*self._children, *self._seen.values(), *self._nests.pids}
        orphans = self._children_list.read() - ours
        fresh = orphans - self._orphans
        self._orphans = orphans
        return any(not is_of_nest(pid) for pid in fresh)

    def _ended(
        self, attempt_id: int, exit_code: int | None, number: int | None, at: float, leftovers: bool, silent: bool
    ) -> None:
        attempt = self._watched[attempt_id]
        # That there are orphans does not say whose; an attempt that we stop must be gone entirely.
        if leftovers or attempt.stop_began_mono is not None:
            leftovers = bool(self._remaining(attempt))
        self._report(Ended(attempt_id, exit_code, number, at, leftovers, silent))
        if leftovers:
            self._await_leftovers(attempt_id)

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        goes_on = isinstance(report, Started) or (isinstance(report, Ended) and report.leftovers)
        if not goes_on:
            self._watched.pop(report.attempt_id, None)
            self._rebooted.discard(report.attempt_id)
            successor = self._lined_up.pop(report.attempt_id, None)
            if successor is not None:
                self._waiting.discard(successor.attempt.id)
                successor.attempt.started = self._reactor.now()
                self.start([successor])

    # -- leftovers --------------------------------------------------------------------------------------------

    def _remaining(self, attempt: LiveAttempt) -> list[processes.Process]:
        if attempt.id in self._rebooted:
            return []
        return processes.processes_of(processes.tag_of(attempt.keeper, attempt.id), attempt.pid)

    def _await_leftovers(self, attempt_id: int) -> None:
        """Wait for the end of the first of them, then look again."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        remaining = self._remaining(attempt)
        if not remaining:
            self._report(Gone(attempt_id))
        elif not self._watch_end(remaining[0].pid, lambda: self._await_leftovers(attempt_id)):
            self._reactor.later(_FIRST_LOOK_S, lambda: self._await_leftovers(attempt_id))

    def _watch_end(self, pid: int, call: Callable[[], None]) -> bool:
        fd = processes.open_pidfd(pid)
        if fd is None:
            return False

        def ended() -> None:
            self._reactor.unwatch(fd)
            os.close(fd)
            call()

        self._reactor.watch(fd, ended)
        return True

    def _finish_off(self, attempt_id: int, wait_s: float) -> None:
        """After SIGKILL: again, until nothing is left. A process may have forked while it was being killed."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        for process in self._remaining(attempt):
            processes.send(process.pid, signal.SIGKILL)
        wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
        self._reactor.later(wait_s, lambda: self._finish_off(attempt_id, wait_s))

    # -- adopting ---------------------------------------------------------------------------------------------

    def _settle(self, attempt_id: int, wait_s: float = _FIRST_LOOK_S) -> None:
        """Find out from the journal and the kernel what became of an attempt that is not our child."""
        attempt = self._watched.get(attempt_id)
        if attempt is None:
            return
        journal = read_journal(os.path.join(self._folder, attempt.keeper))
        record = journal.of(attempt_id)
        if record.pid is not None and attempt.pid is None and record.wait_status is None:
            self._report(Started(attempt_id, record.pid))
        attempt.pid = record.pid or attempt.pid
        if record.wait_status is not None:
            code = os.waitstatus_to_exitcode(record.wait_status)
            exit_code, number = (code, None) if code >= 0 else (None, -code)
            self._ended(attempt_id, exit_code, number, record.ended_at, leftovers=True, silent=False)
            return
        lives = self._lives(attempt, record)
        report = None if lives else self._verdict(attempt, journal, record)
        if report is not None:
            self._report(report)
        elif not (lives and self._watch_end(attempt.pid or 0, lambda: self._settle(attempt_id))):
            wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
            self._reactor.later(wait_s, lambda: self._settle(attempt_id, wait_s))

    def _lives(self, attempt: LiveAttempt, record: Record) -> bool:
        return (
            attempt.pid is not None
            and attempt.id not in self._rebooted
            and processes.is_same_process(attempt.pid, record.seen_boottime)
        )

    def _verdict(self, attempt: LiveAttempt, journal: Journal, record: Record) -> Report | None:
        """What became of it, if its process is not there; None while its keeper has yet to say."""
        if record.never_began:
            return NeverBegan(attempt.id)
        if attempt.id in self._rebooted:
            return Vanished(attempt.id, "the machine was restarted while it ran")
        if not journal.exists:
            return Vanished(attempt.id, f"the journal of its host is gone ({self._folder}/{attempt.keeper})")
        if not record.begun:
            return NeverBegan(attempt.id)  # its host is dead, and nobody else starts it
        if journal.kept:
            return None
        if record.pid is None and (found := self._remaining(attempt)):
            attempt.pid = found[0].pid
            self._report(Started(attempt.id, attempt.pid))
            return None
        return Vanished(attempt.id, "its process ended while nobody was there to see how")
