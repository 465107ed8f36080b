"""Moves a process and its descendants into the cgroup of their attempt."""

from __future__ import annotations

import os

from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.engines.local.processes.processes import DAEMON_TAG, TAG_PREFIX
from duckrow.kernel.cgroup_place import ThisMachine, path_of
from duckrow.kernel.process import children_of, environment_of, open_pidfd, own_memory_mb, read_process

_MOST_LOOKS = 20  # for children that fork as fast as we move them; those that escape are found in other ways


def move_tree(group: AttemptGroup, pid: int, pidfd: int) -> bool:
    """Move a process and its descendants. What it forks after its move is in the group. False if it is gone.

    A process that went to another group by itself, such as a container, stays there: that may have its own limits.
    """
    if not _is_where_we_are(pid) or not _take(group, pid, pidfd):
        return False
    for _ in range(_MOST_LOOKS):
        taken = [child for parent in group.pids() for child in children_of(parent) if _take_child(group, child, parent)]
        if not taken:
            break
    return True


def _take_child(group: AttemptGroup, child: int, parent: int) -> bool:
    if not _is_where_we_are(child) or _is_daemon(child):
        return False
    pidfd = open_pidfd(child)
    if pidfd is None:
        return False
    try:
        process = read_process(child)
        # In this order: the PIDs may have been reused since they were listed.
        is_child = process is not None and process.parent == parent and parent in group.pids()
        return is_child and _take(group, child, pidfd)
    finally:
        os.close(pidfd)


def _take(group: AttemptGroup, pid: int, pidfd: int) -> bool:
    had_mb = own_memory_mb(pid)
    taken = group.take(pid, pidfd)
    group.moved_mb += had_mb if taken else 0
    return taken


def _is_where_we_are(pid: int) -> bool:
    machine = ThisMachine()
    return path_of(machine, pid) == path_of(machine, os.getpid())


def _is_daemon(pid: int) -> bool:
    """A job may start a daemon, which is not part of the job."""
    return TAG_PREFIX + DAEMON_TAG.encode() in environment_of(pid)
