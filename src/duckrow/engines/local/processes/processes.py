"""The processes of an attempt: which certainly belong to it, and how to signal them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping

from duckrow.core.named_tuple import NamedTuple
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
"""The variable that marks every process of an attempt, wherever it moves."""

TAG_PREFIX = f"{TAG}=".encode()

DAEMON_TAG = "daemon"
"""The tag of a daemon: it does not belong to a job, even if a job started it."""

_MOST_PARENTS = 20
_LONGEST_DESCRIPTION = 60


def tag_of(journal: str, attempt_id: int) -> str:
    """The value of that variable, unique on this machine."""
    return f"{journal}.{attempt_id}"


class Trace(NamedTuple):
    """How to recognise the processes of an attempt."""

    tag: str
    leader: int | None = None  # the PID of its first process, which leads a session
    sure_until: float = math.inf  # until when that PID was certainly its own, in seconds since boot; inf: it still is
    orphans: Collection[int] = ()  # orphans that can only belong to it
    in_group: Collection[int] = ()  # processes that were in its cgroup just now

    def has(self, process: Process) -> bool:
        """Whether this process certainly belongs to the attempt, judged by the process alone.

        A process cannot join a session: it is born into one, or leads its own. So a process that was born into the
        leader's session, while the leader certainly had its PID, belongs to the attempt. /proc rounds start times down
        by up to a tick.
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
    """Every living process that certainly belongs to the attempt: by session, tag, cgroup or descent."""
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
    """The oldest living session leader with this tag, else the oldest process with it."""
    with_tag = f"{TAG}={tag}".encode()
    tagged = [p for p in map(read_process, all_pids()) if p is not None and with_tag in environment_of(p.pid)]
    living = [process for process in tagged if not process.zombie]
    return min(living, key=lambda process: (process.session != process.pid, process.start), default=None)


def is_same_process(pid: int, seen_boottime: float) -> bool:
    """Whether this PID is still the same process, and not a later one with the same number."""
    process = read_process(pid)
    return process is not None and not process.zombie and process.started_s <= seen_boottime


def tag_in(pid: int) -> str:
    """The tag in its environment: of an attempt, a preloaded parent or an MPS daemon; empty without one."""
    tags = (variable for variable in environment_of(pid) if variable.startswith(TAG_PREFIX))
    return os.fsdecode(next(tags, b"")[len(TAG_PREFIX) :])


def send(process: Process, number: int) -> bool:
    """Signal exactly this process; False if it has ended."""
    return signal_process(f"{process.pid}:{process.start}:{our_pid_space()}", number)


def describe(process: Process) -> str:
    words = command_line_of(process.pid) or program_of(process.pid)
    short = words if len(words) <= _LONGEST_DESCRIPTION else words[: _LONGEST_DESCRIPTION - 3] + "..."
    return f"{short} (process {process.pid})"


def attempts_of(pids: Iterable[int], attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> dict[int, int]:
    """The attempt of each of these processes that lives here; 0: it is not of duckrow.

    `attempts`: by their tags. A negative number is an attempt of another host of ours (`is_ours` knows by its journal),
    or one that has just ended. -1 belongs to another duckrow. The numbers alone are not enough, because every state
    folder begins with 1.
    """
    found: dict[int, int] = {}
    for pid in pids:
        attempt = _attempt_of(pid, attempts, is_ours)
        if identity_of(pid):  # checked last: it may have ended meanwhile
            found[pid] = attempt
    return found


def _attempt_of(pid: int, attempts: Mapping[str, int], is_ours: Callable[[str], bool]) -> int:
    tag = _inherited_tag(pid) or next(reversed(tags_by_group(pid)), "")
    journal, _, number = tag.rpartition(".")
    if not number.isdigit():
        return 0  # no tag, or one of a daemon: of duckrow's own, or of MPS
    return attempts.get(tag, -int(number) if is_ours(journal) else -1)


def _inherited_tag(pid: int) -> str:
    """Its tag, or that of its nearest ancestor with one: a process may have cleared its environment."""
    for _ in range(_MOST_PARENTS):
        for variable in environment_of(pid):
            if variable.startswith(TAG_PREFIX):
                return os.fsdecode(variable[len(TAG_PREFIX) :])
        process = read_process(pid)
        if process is None or process.parent <= 1:
            return ""
        pid = process.parent
    return ""
