"""The processes of an attempt: which are certainly its own, and how to signal them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from duckrow.engines.local.cgroups.cgroups import tags_by_group
from duckrow.kernel.process import (
    TICK_S,
    Process,
    all_pids,
    command_line_of,
    environment_of,
    identity_of,
    our_pid_space,
    program_of,
    read_process,
    signal_process,
)

TAG = "DUCKROW_TAG"
"""The variable by which every process of an attempt is known, wherever it moved."""

TAG_PREFIX = f"{TAG}=".encode()

DAEMON_TAG = "daemon"
"""That of a daemon: no job's leftover, though a job may have started it."""

_MOST_PARENTS = 20
_LONGEST_DESCRIPTION = 60


def tag_of(journal: str, attempt_id: int) -> str:
    """The value of that variable: unique on this machine."""
    return f"{journal}.{attempt_id}"


class Trace(NamedTuple):
    """By what the processes of an attempt are known."""

    tag: str
    leader: int | None = None  # the PID of its first process, which leads a session
    sure_until: float = math.inf  # seconds since boot until which that PID was certainly its own; inf: it still is
    orphans: Collection[int] = ()  # processes that have lost their parent, and can only be its own
    in_group: Collection[int] = ()  # processes that were in its cgroup just now

    def has(self, process: Process) -> bool:
        """Whether this process is certainly the attempt's, by what is known of itself alone.

        Nobody joins a session: a process is born into it, or leads its own. So whoever was born into the leader's
        session while that PID was certainly the leader's is the attempt's. /proc rounds a start down by up to a tick.
        """
        if process.pid in self.orphans:
            return True
        if process.pid in self.in_group and self.tag in tags_by_group(process.pid):  # now that we have looked at it
            return True
        if self.leader is not None and process.session == self.leader:
            slack = 0.0 if process.pid == self.leader else TICK_S
            if process.started_s + slack <= self.sure_until:
                return True
        return f"{TAG}={self.tag}".encode() in environment_of(process.pid)


def processes_of(trace: Trace) -> list[Process]:
    """Every living process that is certainly the attempt's: by session, tag, cgroup, or descent from such a one."""
    table = {p.pid: p for p in map(read_process, all_pids()) if p is not None}
    members = {pid for pid, process in table.items() if trace.has(process)}
    grew = True
    while grew:
        children = {pid for pid, process in table.items() if process.parent in members} - members
        members |= children
        grew = bool(children)
    members.discard(os.getpid())
    return [table[pid] for pid in sorted(members) if not table[pid].zombie]


def first_process_of(tag: str) -> Process | None:
    """The oldest living process with this tag that leads a session, else the oldest of all."""
    with_tag = f"{TAG}={tag}".encode()
    tagged = [p for p in map(read_process, all_pids()) if p is not None and with_tag in environment_of(p.pid)]
    living = [process for process in tagged if not process.zombie]
    return min(living, key=lambda process: (process.session != process.pid, process.start), default=None)


def is_same_process(pid: int, seen_boottime: float) -> bool:
    """Whether this PID still is the process that was there then, not a later one with its number."""
    process = read_process(pid)
    return process is not None and not process.zombie and process.started_s <= seen_boottime


def tag_in(pid: int) -> str:
    """The tag in its environment: an attempt's, a preloaded parent's, that of an MPS daemon; empty if it has none."""
    tags = (variable for variable in environment_of(pid) if variable.startswith(TAG_PREFIX))
    return os.fsdecode(next(tags, b"")[len(TAG_PREFIX) :])


def send(process: Process, number: int) -> bool:
    """Signal this very process; False if it is gone."""
    return signal_process(f"{process.pid}:{process.start}:{our_pid_space()}", number)


def describe(process: Process) -> str:
    words = command_line_of(process.pid) or program_of(process.pid)
    short = words if len(words) <= _LONGEST_DESCRIPTION else words[: _LONGEST_DESCRIPTION - 3] + "..."
    return f"{short} (process {process.pid})"


def attempts_of(pids: Iterable[int], attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> dict[int, int]:
    """Of those of these processes that live here: the attempt that each belongs to, 0 for a stranger's.

    `attempts`: by their tags. One of another host of ours (`is_ours` says so of its journal), or one that has ended
    just now, is told as a negative number, and -1 is another duckrow's. The numbers alone do not do: every state folder
    begins with 1.
    """
    found: dict[int, int] = {}
    for pid in pids:
        attempt = _attempt_of(pid, attempts, is_ours)
        if identity_of(pid):  # looked at last: it may have ended meanwhile
            found[pid] = attempt
    return found


def _attempt_of(pid: int, attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> int:
    tag = _inherited_tag(pid) or next(reversed(tags_by_group(pid)), "")
    if not tag:
        return 0
    journal, _, number = tag.rpartition(".")
    known = int(number) if number.isdigit() and is_ours(journal) else 0
    return attempts.get(tag, -known or -1)


def _inherited_tag(pid: int) -> str:
    """Its tag, or that of the next of its parents that has one: a process may have cleared its environment."""
    for _ in range(_MOST_PARENTS):
        for variable in environment_of(pid):
            if variable.startswith(TAG_PREFIX):
                return os.fsdecode(variable[len(TAG_PREFIX) :])
        process = read_process(pid)
        if process is None or process.parent <= 1:
            return ""
        pid = process.parent
    return ""
