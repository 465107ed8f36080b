"""The keeper: the parent of a host, which inherits its attempts.

The host starts attempts itself, as its own children, and the kernel tells it how they end. When the host dies, in any
way, the kernel gives its children to the nearest ancestor that asked for them: the keeper. It also gives the keeper
those that have ended and that nobody has waited for yet. So no wait status is missing, and there is nothing between
host and attempts while both live. The keeper then writes each end into the journal, until the last attempt has ended.

If the keeper is killed instead, the host stops being a host and becomes the keeper of its own children.
"""

from __future__ import annotations

import array
import errno
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping

from duckrow.engines.local.keeper.journal import JournalWriter, wait_status
from duckrow.engines.local.keeper.link import EMPTIED, JOURNAL, REFUSED, TOOK, KeeperLink, LogPipe
from duckrow.engines.local.keeper.signal_link import HEARD, HostEnd, KeeperEnd, signal_link
from duckrow.engines.local.keeper.stopped_host import StoppedHost
from duckrow.engines.local.keeper.unnamed_child import find_unnamed
from duckrow.engines.local.log_pump import LogPump
from duckrow.engines.local.processes.orphans import end_untagged_orphans
from duckrow.engines.local.processes.process_tree import kill_tree
from duckrow.engines.local.processes.processes import Trace, tag_of
from duckrow.kernel.inotify import FileWatch
from duckrow.kernel.own_files import close_all_but
from duckrow.kernel.parentage import adopt_orphans
from duckrow.kernel.process import children_of, open_pidfd, read_process

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import NoReturn

_MEND_S = 0.2
_NO_PIDFD_S = 0.5  # how often to look if the kernel does not tell us of an end
_STARTERS_S = 4.0  # how long the starters of a dead host may take to end: they are told at once
_DYING_S = 0.0005
_ORPHANS_S = 1.0  # how long we hold back the end of an attempt until its orphans have ended


def fork_host(
    keepers_folder: str,
    *,
    speaks: bool,
    heirless: bool = False,
    afterwards: Callable[[int, bool], None] | None = None,
) -> KeeperLink:
    """Return in a child process, which will be the host. The caller's own process becomes its keeper.

    `speaks`: the keeper says on stderr if the host was killed. It ends with the host's exit code.
    `heirless`: nobody will take over the attempts of a dead host, so they end with it. `afterwards`: the keeper calls
    it when all is over, with the host's exit code (128 + N: killed by signal N) and whether somebody told it to end.
    """
    journal = JournalWriter(keepers_folder)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    our_signals, their_signals = signal_link()
    adopt_orphans()
    sys.stdout.flush()
    sys.stderr.flush()
    keeper_pid = os.getpid()
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)  # a signal at this moment must not end the keeper
    host_pid = os.fork()
    if host_pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        ours.close()
        our_signals.close()
        adopt_orphans()
        return KeeperLink(journal, theirs, HostEnd(their_signals), keeper_pid)
    theirs.close()
    their_signals.close()
    code = 70
    try:
        signals = KeeperEnd(our_signals, host_pid)
        ended = _Keeper(journal, ours, host_pid, speaks, heirless, signals).run()
        if afterwards is not None:
            afterwards(ended, signals.told_to_end)
        code = ended
    except BaseException:
        sys.__excepthook__(*sys.exc_info())  # which needs no module and no file
    finally:
        os._exit(code)  # whatever happens: nobody may run the caller's code a second time, in this process


def keep_own_children(link: KeeperLink) -> NoReturn:
    """The keeper is dead: look after our own children and their logs until they end."""
    signal.set_wakeup_fd(-1)  # which we close
    link.journal.shared_no_more()
    keeper = _Keeper(link.journal, None, None, speaks=False)
    keeper.take_pipes(link.pipes)
    keeper.keep()
    os._exit(1)


class _Keeper:
    def __init__(
        self,
        journal: JournalWriter,
        control: socket.socket | None,
        host_pid: int | None,
        speaks: bool,
        heirless: bool = False,
        signals: KeeperEnd | None = None,
    ) -> None:
        self._journal = journal
        self._control = control
        self._signals = signals
        self._host_pid = host_pid
        self._speaks = speaks
        self._heirless = heirless
        # These children belong to our caller, not to us. A host that became a keeper had none.
        self._before = frozenset(children_of(os.getpid()) if host_pid is not None else ()) - {host_pid}
        self._poller = select.poll()
        self._pump = LogPump(self._poller, self._tell_emptied)
        self._mend_at: float | None = None  # when to repair the journal: it was touched, or a full disk refused a line
        self._watch = FileWatch()
        self._ended = 0  # the last attempt, while its orphans are being ended

    def run(self) -> int:
        """Wait while the host lives; then look after its attempts."""
        code = self._stand_by()
        self._await_starters()
        self.keep(told_by_host=code)
        return code

    # -- while the host lives ---------------------------------------------------------------------------------

    def _stand_by(self) -> int:
        assert self._control is not None
        assert self._signals is not None
        assert self._host_pid is not None
        control, told, ear = self._control.fileno(), self._signals.fd, self._signals.ear
        close_all_but(self._journal.fd, control, told, ear, *self._own_fds())
        _allow_many_files()
        self._control.setblocking(False)
        stopped = StoppedHost(self._host_pid, self._journal, self._control, self._poller)
        for fd in (ear, control, told):
            self._poller.register(fd, select.POLLIN)
        while True:
            for fd, _ in self._poller.poll():
                if fd == ear:
                    self._signals.hear()
                    stopped.look()
                elif fd == told:
                    if not self._signals.answer():
                        self._poller.unregister(told)  # the host is ending: SIGCHLD tells
                elif fd == control:
                    self._take_from_host()
                else:
                    self._pump.pump(fd)
                    stopped.saw(fd)
            status = self._host_status()
            if status is not None:
                return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def _host_status(self) -> int | None:
        assert self._host_pid is not None
        pid, status = os.waitpid(self._host_pid, os.WNOHANG)
        return status if pid else None

    def _await_starters(self) -> None:
        """Their attempts fall to us too. They have the host's end of the socket: it ends with the last of them."""
        patient_until = time.monotonic() + _STARTERS_S
        ended = select.poll()
        if self._control is not None:  # or it has ended already
            ended.register(self._control.fileno(), select.POLLIN)
        while self._control is not None and ended.poll(max(patient_until - time.monotonic(), 0.0) * 1000):
            if not self._take_from_host():  # perhaps the host has handed over something in its last moment
                break
        # The kernel closes the files of a process some instants before it gives its children to us.
        while dying := [pid for pid in self._journal.starters() if _is_living_starter(pid)]:
            if time.monotonic() > patient_until:
                for pid in dying:
                    os.kill(pid, signal.SIGKILL)  # it is our child now
            time.sleep(_DYING_S)
        self._journal.shared_no_more()

    # -- when it is dead --------------------------------------------------------------------------------------

    def keep(self, told_by_host: int | None = None) -> None:
        """Wait for each attempt that the kernel gave us, and write down how it ended."""
        pids = self._take_over()
        if self._speaks and told_by_host is not None and told_by_host > 128 and pids:
            sys.stderr.write(
                f"duckrow: the scheduler was killed by signal {told_by_host - 128}. "
                f"{len(pids)} running {'job keeps' if len(pids) == 1 else 'jobs keep'} running. "
                "`duckrow ls` shows what runs, and what to type.\n"
            )
            sys.stderr.flush()
        if self._heirless:
            for pid, attempt in pids.items():
                kill_tree(lambda pid=pid, attempt=attempt: Trace(tag_of(self._journal.name, attempt), pid))  # type: ignore[misc]
        self._let_go_of_the_terminal(pids)
        if pids:
            self._watch_journal()
        ends = self._watch_ends(pids)
        while pids or self._pump or self._mend_at is not None:
            if pids and self._watch.fd is None:
                self._mend_soon()  # nothing would tell us that somebody touched the journal
            for fd, _ in self._poller.poll(self._patience_ms(pids, ends)):
                self._look_at(fd, ends)
            self._see_ends(pids)
            if self._mend_at is not None and time.monotonic() >= self._mend_at:
                self._mend()

    def _watch_ends(self, pids: Mapping[int, int]) -> set[int]:
        """Files through which the kernel tells us of ends."""
        found = {fd for pid in pids if (fd := open_pidfd(pid)) is not None}
        for fd in (*found, *self._own_fds()):
            self._poller.register(fd, select.POLLIN)
        return found

    def _patience_ms(self, pids: Mapping[int, int], ends: set[int]) -> float | None:
        if self._mend_at is not None:
            return max(self._mend_at - time.monotonic(), 0.0) * 1000
        return None if len(ends) >= len(pids) else _NO_PIDFD_S * 1000

    def _look_at(self, fd: int, ends: set[int]) -> None:
        if fd in ends:
            ends.discard(fd)
            self._poller.unregister(fd)
            os.close(fd)
        elif fd == self._watch.fd:
            self._watch.hush()
            self._mend_soon()  # not at once: we must not get in the way of somebody who removes the folder
        else:
            self._pump.pump(fd)

    def _mend(self) -> None:
        """Somebody touched the journal, or a full disk refused a line."""
        self._mend_at = None
        try:
            self._journal.mend()
        except FileNotFoundError:
            return  # the whole state was removed: nobody will ask
        except OSError:
            self._mend_soon()
        self._watch_journal()  # it may be another file now

    def _watch_journal(self) -> None:
        self._watch.add(self._journal.path)
        if self._journal.is_replaced():
            self._mend_soon()  # somebody was quicker than our watch, which would never tell

    def _mend_soon(self) -> None:
        if self._mend_at is None:
            self._mend_at = time.monotonic() + _MEND_S

    def _take_over(self) -> dict[int, int]:
        """Find out which child is which attempt. If the journal does not name it yet, its tag does."""
        known = self._journal.read()
        records = {attempt: record for attempt, record in known.items() if not record.has_ended}
        named = {record.pid: attempt for attempt, record in records.items() if record.pid is not None}
        children = children_of(os.getpid())
        pids = {pid: named[pid] for pid in children if pid in named}
        found = find_unnamed(self._journal.name, known, [child for child in children if child not in pids])
        for attempt in found.never_began:
            self._journal.never_began(attempt)
        for attempt, pid in found.pids.items():
            pids[pid] = attempt
            self._journal.started(attempt, pid)
        if pids or len(records) < len(known):
            self._mend()  # it may have been damaged while the host lived, and starters are in no hurry to write ends
        return pids

    def _let_go_of_the_terminal(self, pids: dict[int, int]) -> None:
        """Let go of our output, so that no pipe and no closing terminal waits for us."""
        if not (pids or self._pump):
            return
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        close_all_but(self._journal.fd, *self._pump.fds, *self._own_fds())
        self._poller = select.poll()
        self._pump.use(self._poller)

    def _own_fds(self) -> list[int]:
        return [] if self._watch.fd is None else [self._watch.fd]

    def _see_ends(self, pids: dict[int, int]) -> None:
        """Write down who has ended. Only then let the kernel forget it and its PID."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                pids.clear()
                return
            if ended is None:
                return
            attempt = pids.pop(ended.si_pid, None)
            if attempt is not None and not pids:
                self._ended = ended.si_pid
                self._end_orphans()
            if attempt is not None and not self._journal.ended(attempt, wait_status(ended)):
                self._mend_soon()
            os.waitpid(ended.si_pid, 0)

    def _end_orphans(self) -> None:
        """Processes without a tag that the attempts left to us end with the last attempt."""
        deadline = time.monotonic() + _ORPHANS_S
        while end_untagged_orphans(self._before) and time.monotonic() < deadline:
            self._reap_orphans()

    def _reap_orphans(self) -> None:
        """Forget those that have ended, so that we do not look at them again."""
        for pid in children_of(os.getpid()):
            process = read_process(pid)
            if pid not in self._before and process is not None and process.zombie and pid != self._ended:
                os.waitpid(pid, os.WNOHANG)

    # -- what the host hands over -----------------------------------------------------------------------------

    def _take_from_host(self) -> bool:
        """A pipe that will become a capped log, or a journal that was created again; False if there is nothing."""
        if self._control is None:
            return False
        try:
            message, rights, _, _ = self._control.recvmsg(1 << 16, socket.CMSG_LEN(4))
        except OSError:
            return False
        if not message:
            self._poller.unregister(self._control.fileno())  # the host is ending: SIGCHLD tells
            self._control = None
            return False
        fd = array.array("i", rights[0][2])[0] if rights else None
        if message == JOURNAL:
            if fd is not None:
                self._journal.use(fd)
            return True
        _, attempt, cap, path = message.decode("utf-8", "surrogateescape").split(" ", 3)
        # The kernel drops a file that we have no number left for.
        refusal = errno.EMFILE if fd is None else self._pump.take(fd, int(attempt), path, int(cap))
        if refusal and fd is not None:
            os.close(fd)
        self._tell(b"%s %d" % (REFUSED, refusal) if refusal else TOOK)
        return True

    def take_pipes(self, pipes: Mapping[int, LogPipe]) -> None:
        for attempt, pipe in pipes.items():
            self._pump.take(pipe.reading, attempt, pipe.log, pipe.cap)

    def _tell_emptied(self, attempt: int) -> None:
        self._tell(b"%s %d" % (EMPTIED, attempt))

    def _tell(self, message: bytes) -> None:
        if self._control is not None:
            try:
                self._control.send(message)
            except OSError:
                pass  # the host is dead: nobody waits for it


def _allow_many_files() -> None:
    """Each capped log takes two open files. We start no process that would inherit this limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _is_living_starter(pid: int) -> bool:
    process = read_process(pid)
    if process is None or process.zombie or process.parent != os.getpid():
        return False
    return process.session == os.getsid(0)  # an attempt with the PID of a starter that is dead has its own
