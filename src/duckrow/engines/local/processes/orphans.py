"""Processes that have lost their parent: the kernel gives them to the host, or to the keeper once the host is dead.

One with a tag is known by it, and one in a cgroup of an attempt by that. Any other that has cleared its environment
could be that of any attempt of which something was left when it came. So it is charged to all of these, and ended with
the last of them.
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
    """Kill children of ours that nobody here has started and that no tag tells of; whether there were any."""
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
    """Stop those of our children that belong to somebody, until no new ones come; which they are.

    They may be a chain: each forks and exits, in less time than it takes to find out what it is. So each is stopped
    first, which is safe, as the PID of a child of ours cannot go to another process, and goes on if it is not meant.
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
        pass  # it has become another user's


def _is_orphan(process: Process, our_session: int) -> bool:
    """What a library starts for us stays in our session; every attempt has one of its own."""
    return not process.zombie and process.session != our_session


FirstProcess = tuple[int, int | None]
"""(attempt, the PID of its first process; None: that may be another's by now)."""


class Orphans:
    """Those of a host."""

    def __init__(self, journal: str, in_our_session: bool, by_group: Callable[[int], int | None]) -> None:
        """`in_our_session`: attempts have no session of their own. `by_group`: the attempt that a cgroup tells of."""
        self._journal = journal
        self._by_group = by_group
        self._children = ChildrenList()
        self.known: set[int] = set()  # to be waited for: nobody else does
        self._charged: dict[int, set[int]] = {}  # orphan -> the attempts that it may be of
        self._session = -1 if in_our_session else os.getsid(0)

    def look(self, ours: Collection[int], not_gone: Collection[FirstProcess]) -> bool:
        """Whether there were some, of no matter whom, that are gone already: they may have left others.

        `ours` are not orphans; `not_gone`: the attempts of which something may be left.
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
        """Stop those of an attempt that is to end, also those that come meanwhile."""

        def belongs(pid: int) -> bool:
            if pid not in self._charged:
                self.known.add(pid)
                self._meet(pid, not_gone)
            return pid in self.of(attempt_id)

        halt_newcomers(self._children.read, {*ours, *(self.known - self.of(attempt_id))}, belongs)

    def of(self, attempt_id: int) -> set[int]:
        """Those that can only be this attempt's."""
        return {pid for pid, attempts in self._charged.items() if attempts == {attempt_id}}

    def gone(self, attempt_id: int) -> None:
        """The attempt is over, and with it what was its alone."""
        for attempts in self._charged.values():
            attempts.discard(attempt_id)

    def forget(self, pid: int) -> None:
        self.known.discard(pid)
        self._charged.pop(pid, None)

    def _meet(self, pid: int, not_gone: Collection[FirstProcess]) -> bool:
        """Find out whose it may be; False if it is gone already."""
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
        """The attempt of this host; None: it is another's, or a preloaded parent's."""
        journal, _, number = tag.rpartition(".")
        return int(number) if journal == self._journal and number.isdigit() else None


def _may_descend(process: Process, leader: int | None) -> bool:
    """Nobody is older than the first process of its attempt."""
    first = None if leader is None else read_process(leader)
    return first is None or first.start <= process.start
