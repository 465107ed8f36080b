"""The keeper: parent of a host, heir of its attempts.

The host starts attempts itself, as its own children, and learns their ends from the kernel. When it dies, however it
dies, the kernel gives its children, also those that have ended and were not yet waited for, to the nearest ancestor
that asked for them: the keeper. So no wait status is ever lost, and nothing stands between host and attempts while
both live. The keeper then writes each end into the journal, until the last attempt has ended.

If the keeper is killed instead, the host stops being a host and becomes the keeper of its own children.
"""

from __future__ import annotations

import array
import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import NoReturn

from duckrow.engines.local.capped_log import CappedLog
from duckrow.engines.local.journal import JournalWriter
from duckrow.engines.local.processes import TAG, TAG_PREFIX, children_of, environment_of, read_process, tag_of
from duckrow.engines.local.signal_link import HEARD, HostEnd, KeeperEnd, signal_link

_PR_SET_CHILD_SUBREAPER = 36
_READ_BYTES = 1 << 18
_FULL_DISK_S = 0.2
_EXEC_S = 1.0


class KeeperLink:
    """What a host has of its keeper."""

    def __init__(self, journal: JournalWriter, control: socket.socket, signals: HostEnd, keeper_pid: int) -> None:
        self.journal = journal
        self._control = control
        self.signals = signals
        self.keeper_pid = keeper_pid

    @property
    def fd(self) -> int:
        """Readable when the keeper has emptied a pipe to its end."""
        return self._control.fileno()

    def hand_over(self, attempt_id: int, reading: int, log: str, cap: int) -> None:
        """Have the keeper empty this pipe into a capped log, so that the log outlives the host."""
        message = f"{attempt_id} {cap} {log}".encode("utf-8", "surrogateescape")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [reading]))]
        self._control.sendmsg([message], rights)

    def emptied(self) -> int | None:
        """An attempt whose log is complete."""
        try:
            return int(self._control.recv(64) or 0) or None
        except OSError:
            return None


def fork_host(keepers_folder: str, *, speaks: bool, heirless: bool = False) -> KeeperLink:
    """Return in a child of ours, which is to be the host; the caller's own process becomes its keeper.

    `speaks`: the keeper tells on stderr when the host was killed. It ends with the host's exit code.
    `heirless`: nobody will take over what a dead host has left, so it ends with it.
    """
    journal = JournalWriter(keepers_folder)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    our_signals, their_signals = signal_link()
    _adopt_orphans()
    sys.stdout.flush()
    sys.stderr.flush()
    keeper_pid = os.getpid()
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)  # a signal that comes now must not end the keeper
    host_pid = os.fork()
    if host_pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        ours.close()
        our_signals.close()
        _adopt_orphans()
        return KeeperLink(journal, theirs, HostEnd(their_signals), keeper_pid)
    theirs.close()
    their_signals.close()
    try:
        code = _Keeper(journal, ours, host_pid, speaks, heirless, KeeperEnd(our_signals, host_pid)).run()
    except BaseException:  # a fault of ours must not run the caller's code a second time, in this process
        import traceback

        traceback.print_exc()
        code = 70
    os._exit(code)


def keep_own_children(journal: JournalWriter) -> NoReturn:
    """The keeper is dead: see our own children to their end."""
    _Keeper(journal, None, None, speaks=False).keep()
    os._exit(1)


def _adopt_orphans() -> None:
    """Processes whose parent dies become our children, if they descend from us."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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
        self._pipes: dict[int, tuple[int, CappedLog]] = {}  # reading end -> (attempt, log)
        self._unwritten: list[tuple[int, int]] = []  # ends that a full disk refused
        self._poller = select.poll()

    def run(self) -> int:
        """Stand by while the host lives; then keep what it has left."""
        code = self._stand_by()
        self.keep(told_by_host=code)
        return code

    # -- while the host lives ---------------------------------------------------------------------------------

    def _stand_by(self) -> int:
        assert self._control is not None
        assert self._signals is not None
        control, told, ear = self._control.fileno(), self._signals.fd, self._signals.ear
        _close_all_but(self._journal.fd, control, told, ear)
        for fd in (ear, control, told):
            self._poller.register(fd, select.POLLIN)
        while True:
            for fd, _ in self._poller.poll():
                if fd == ear:
                    self._signals.hear()
                elif fd == told:
                    if not self._signals.answer():
                        self._poller.unregister(told)  # the host is ending: SIGCHLD tells
                elif fd == control:
                    self._take_pipe()
                else:
                    self._pump(fd)
            status = self._host_status()
            if status is not None:
                return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def _host_status(self) -> int | None:
        assert self._host_pid is not None
        pid, status = os.waitpid(self._host_pid, os.WNOHANG)
        return status if pid else None

    # -- when it is dead --------------------------------------------------------------------------------------

    def keep(self, told_by_host: int | None = None) -> None:
        """Wait for each attempt that the kernel has given us, and write down how it ended."""
        pids = self._take_over()
        if self._speaks and told_by_host is not None and told_by_host > 128 and pids:
            sys.stderr.write(
                f"duckrow: the scheduler was killed by signal {told_by_host - 128}. {len(pids)} running jobs go on; "
                "`duckrow run --resume` with the same file or name continues the run.\n"
            )
            sys.stderr.flush()
        if self._heirless:
            _kill_groups(pids)
        self._let_go_of_the_terminal(pids)
        while pids or self._pipes or self._unwritten:
            for fd, _ in self._poller.poll(20 if self._pipes else 0):
                self._pump(fd)
            self._reap(pids, may_wait=not (self._pipes or self._unwritten))
            if self._unwritten:
                self._write_again()

    def _take_over(self) -> dict[int, int]:
        """Which child is which attempt. One that was started and not yet named in the journal is found by its tag."""
        records = self._journal.read()
        named = {record.pid: attempt for attempt, record in records.items() if record.pid is not None}
        children = children_of(os.getpid())
        pids = {pid: named[pid] for pid in children if pid in named}
        for attempt, record in records.items():
            if record.begun and record.pid is None:
                pid = self._find(attempt, [child for child in children if child not in pids])
                if pid is None:
                    self._journal.never_began(attempt)
                else:
                    pids[pid] = attempt
                    self._journal.started(attempt, pid)
        return pids

    def _find(self, attempt: int, strangers: list[int]) -> int | None:
        """The child that is this attempt: by its tag, or as a session's leader if it has ended or shed its environment.

        A stranger too many is lost at the worst; a child that is not found would run a second time.
        """
        wanted = f"{TAG}={tag_of(self._journal.name, attempt)}".encode()
        for pid in strangers:
            variables = _variables_after_exec(pid)
            process = read_process(pid)
            tagged = any(variable.startswith(TAG_PREFIX) for variable in variables)
            if wanted in variables or (process is not None and process.session == pid and not tagged):
                return pid
        return None

    def _let_go_of_the_terminal(self, pids: dict[int, int]) -> None:
        """Nobody should wait for us: neither a pipe that we were part of nor a terminal that is to be closed."""
        if not (pids or self._pipes):
            return
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        _close_all_but(self._journal.fd, *self._pipes, *(log.fd for _, log in self._pipes.values()))
        self._poller = select.poll()
        for fd in self._pipes:
            self._poller.register(fd, select.POLLIN)

    def _reap(self, pids: dict[int, int], may_wait: bool) -> None:
        try:
            pid, status = os.waitpid(-1, 0 if may_wait else os.WNOHANG)
        except ChildProcessError:
            pids.clear()
            return
        attempt = pids.pop(pid, None)
        if attempt is not None and not self._journal.ended(attempt, status):
            self._unwritten.append((attempt, status))

    def _write_again(self) -> None:
        time.sleep(_FULL_DISK_S)
        self._unwritten = [(a, status) for a, status in self._unwritten if not self._journal.ended(a, status)]

    # -- capped logs ------------------------------------------------------------------------------------------

    def _take_pipe(self) -> None:
        assert self._control is not None
        message, rights, _, _ = self._control.recvmsg(1 << 16, socket.CMSG_LEN(4))
        if not message:
            self._poller.unregister(self._control.fileno())  # the host is ending: SIGCHLD tells
            return
        reading = array.array("i", rights[0][2])[0]
        attempt, cap, path = message.decode("utf-8", "surrogateescape").split(" ", 2)
        try:
            log = CappedLog(path, int(cap))
        except OSError:
            os.close(reading)  # it could be opened a moment ago; the job is told by SIGPIPE
            return
        os.set_blocking(reading, False)
        self._pipes[reading] = (int(attempt), log)
        self._poller.register(reading, select.POLLIN)

    def _pump(self, fd: int) -> None:
        if fd not in self._pipes:
            return
        attempt, log = self._pipes[fd]
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            try:
                log.write(data)
            except OSError:
                pass  # disk full: output is lost, the job is not
            return
        self._poller.unregister(fd)
        os.close(fd)
        log.close()
        del self._pipes[fd]
        if self._control is not None:
            try:
                self._control.send(str(attempt).encode())
            except OSError:
                pass  # the host is dead: nobody waits for it


def _kill_groups(leaders: Iterable[int]) -> None:
    for pid in leaders:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended


def _variables_after_exec(pid: int) -> list[bytes]:
    """The environment of a child, which its host may have been in the midst of starting when it died.

    Until it is what it will be, such a child looks like the host itself, and then for a moment like nothing at all.
    """
    ours = os.readlink("/proc/self/exe")
    deadline = time.monotonic() + _EXEC_S
    while True:
        process = read_process(pid)
        if process is None or process.zombie:
            return []
        variables = environment_of(pid)
        try:
            is_new = os.readlink(f"/proc/{pid}/exe") != ours
        except OSError:
            is_new = False
        tagged = any(variable.startswith(TAG_PREFIX) for variable in variables)
        if tagged or (is_new and any(variables)) or time.monotonic() > deadline:
            return variables
        time.sleep(0.001)


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # the listing itself
