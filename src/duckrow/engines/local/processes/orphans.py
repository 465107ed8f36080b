"""Processes that have lost their parent: the kernel gives them to the host, or to the keeper once the host is dead.

A tag, or the cgroup of an attempt, says whose an orphan is. One without either has cleared its environment. It may
belong to any attempt that still had processes when it came. So it counts for all of these, and is ended with the last
of them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection

from duckrow.engines.local.processes.process_tree import kill_tree
from duckrow.engines.local.processes.processes import Trace, tag_in
from duckrow.kernel.process import ChildrenList, Process, children_of, read_process


def end_untagged_orphans(not_these: Collection[int]) -> bool:
    """Kill our children that nobody here has started and that have no tag; whether there were any."""
    ours = os.getsid(0)

    def belongs(pid: int) -> bool:
        process = read_process(pid)
        return process is not None and _is_orphan(process, ours) and not tag_in(pid)

    halted = halt_newcomers(lambda: set(children_of(os.getpid())), not_these, belongs)
    return kill_tree(lambda: Trace("", orphans=halted))


_QUIET_LOOKS, _QUIET_S, _LONGEST_S = 4, 0.0005, 0.25


def halt_newcomers(
    children: Callable[[], set[int]], not_these: Collection[int], belongs: Callable[[int], bool]
) -> set[int]:
    """Stop our children that belong to an attempt, until no new ones come; which they are.

    They may be a chain: each forks and exits faster than we can look at it. So we stop each child first and look then.
    That is safe, because no other process can get the PID of our child. If it is not meant, we let it continue.
    """
    halted: set[int] = set()
    seen = set(not_these)
    quiet = 0
    deadline = time.monotonic() + _LONGEST_S
    while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
        fresh = children() - seen
        for pid in fresh:
            _signal_child(pid, signal.SIGSTOP)
        for pid in fresh:
            if belongs(pid):
                halted.add(pid)
            else:
                _signal_child(pid, signal.SIGCONT)
        seen |= fresh
        quiet = 0 if fresh else quiet + 1
        if quiet:
            time.sleep(_QUIET_S)
    return halted


def _signal_child(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except PermissionError:
        pass  # it now runs as another user


def _is_orphan(process: Process, our_session: int) -> bool:
    """What a library starts for us stays in our session. Every attempt has its own."""
    return not process.zombie and process.session != our_session


FirstProcess = tuple[int, int | None]
"""(attempt, PID of its first process). None: another process may have that PID by now."""


class Orphans:
    """The orphans of a host."""

    def __init__(
        self,
        journal: str,
        in_our_session: bool,
        by_group: Callable[[int], int | None],
        may_be_attempt: Callable[[], bool] = lambda: False,
    ) -> None:
        """`in_our_session`: attempts share our session. `by_group`: the attempt that a cgroup belongs to.

        `may_be_attempt`: whether a new child may be an attempt that another process has begun and left to us.
        """
        self._journal = journal
        self._by_group = by_group
        self._may_be_attempt = may_be_attempt
        self._children = ChildrenList()
        self.known: set[int] = set()  # we wait for these: nobody else does
        self._charged: dict[int, set[int]] = {}  # orphan -> the attempts that it may belong to
        self._session = -1 if in_our_session else os.getsid(0)

    def are_none(self, own_children: int) -> bool:
        """Whether all our children are our own, because there are only that many: then nobody is an orphan."""
        return not self.known and not self._charged and self._children.count() == own_children

    def look(self, ours: Collection[int], not_gone: Collection[FirstProcess]) -> bool:
        """Whether any orphans have ended already: they may have left others.

        `ours` are not orphans. `not_gone`: the attempts that may have processes left.
        """
        children = self._children.read().difference(ours)
        fresh = children - self.known
        self.known = children
        if not fresh and not self._charged:
            return False
        for pid in self._charged.keys() - children:
            del self._charged[pid]
        met = [self._meet(pid, not_gone) for pid in fresh]
        return not all(met)

    def halt(self, attempt_id: int, ours: Collection[int], not_gone: Collection[FirstProcess]) -> None:
        """Stop the orphans of an attempt that must end, and those that come meanwhile."""

        def belongs(pid: int) -> bool:
            if pid not in self._charged:
                self.known.add(pid)
                self._meet(pid, not_gone)
            return pid in self.of(attempt_id)

        halt_newcomers(self._children.read, {*ours, *(self.known - self.of(attempt_id))}, belongs)

    def of(self, attempt_id: int) -> set[int]:
        """The orphans that can only belong to this attempt."""
        return {pid for pid, attempts in self._charged.items() if attempts == {attempt_id}}

    def gone(self, attempt_id: int) -> None:
        """The attempt is over, and so are the orphans that were only its own."""
        for attempts in self._charged.values():
            attempts.discard(attempt_id)

    def forget(self, pid: int) -> None:
        self.known.discard(pid)
        self._charged.pop(pid, None)

    def _meet(self, pid: int, not_gone: Collection[FirstProcess]) -> bool:
        """Find out which attempts it may belong to; False if it has already ended, or we must look again."""
        if self._may_be_attempt():
            self.known.discard(pid)
            return False
        process = read_process(pid)
        if process is None or process.zombie:
            return False
        if not _is_orphan(process, self._session):
            return True
        tag = tag_in(pid)
        owner = self._by_tag(tag) if tag else self._by_group(pid)
        if owner is not None:
            self._charged[pid] = {owner}
        elif not tag:
            self._charged[pid] = {attempt for attempt, leader in not_gone if _may_descend(process, leader)}
        return True

    def _by_tag(self, tag: str) -> int | None:
        """The attempt of this host; None: it belongs to another host or a preloaded parent."""
        journal, _, number = tag.rpartition(".")
        return int(number) if journal == self._journal and number.isdigit() else None


def _may_descend(process: Process, leader: int | None) -> bool:
    """No process is older than the first one of its attempt."""
    first = None if leader is None else read_process(leader)
    return first is None or first.start <= process.start
