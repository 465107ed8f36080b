"""Processes that have lost their parent: the kernel gives them to the host, or to the keeper once the host is dead.

One with a tag is known by it, and one in a cgroup of an attempt by that. Any other that has cleared its environment
could be that of any attempt that lived when it came. So it is charged to all of these, and ended with the last of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable

from duckrow.engines.local.processes import has_tag
from duckrow.kernel.process import ChildrenList, Process, children_of, read_process


def untagged_orphans(not_these: Collection[int]) -> set[int]:
    """Children of ours that nobody here has started and that no tag tells of."""
    ours = os.getsid(0)
    found = (read_process(pid) for pid in children_of(os.getpid()) if pid not in not_these)
    return {each.pid for each in found if each is not None and _is_orphan(each, ours) and not has_tag(each.pid)}


def _is_orphan(process: Process, our_session: int) -> bool:
    """What a library starts for us stays in our session; every attempt has one of its own."""
    return not process.zombie and process.session != our_session


class Orphans:
    """Those of a host."""

    def __init__(self, in_our_session: bool, by_group: Callable[[int], int | None]) -> None:
        """`in_our_session`: attempts have no session of their own. `by_group`: the attempt that a cgroup tells of."""
        self._by_group = by_group
        self._children = ChildrenList()
        self.known: set[int] = set()  # to be waited for: nobody else does
        self._charged: dict[int, set[int]] = {}  # orphan without a tag -> the attempts that it may be of
        self._session = -1 if in_our_session else os.getsid(0)

    def look(self, ours: Collection[int], living: Iterable[tuple[int, int]]) -> bool:
        """Whether some have come since we last looked. `ours` are not orphans; `living`: (attempt, its PID)."""
        children = self._children.read().difference(ours)
        fresh = children - self.known
        self.known = children
        if not fresh and not self._charged:
            return False
        for pid in self._charged.keys() - children:
            del self._charged[pid]
        met = [self._meet(pid, living) for pid in fresh]
        return any(met)

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

    def _meet(self, pid: int, living: Iterable[tuple[int, int]]) -> bool:
        """Whether it may have been left by an attempt."""
        process = read_process(pid)
        if process is None or not _is_orphan(process, self._session):
            return False
        if not has_tag(pid):
            owner = self._by_group(pid)
            possible = {attempt for attempt, leader in living if _may_descend(process, leader)}
            self._charged[pid] = possible if owner is None else {owner}
        return True


def _may_descend(process: Process, leader: int) -> bool:
    """Nobody is older than the first process of its attempt."""
    first = read_process(leader)
    return first is None or first.start <= process.start
