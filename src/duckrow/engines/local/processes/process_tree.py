"""Ends all processes of an attempt, even those that fork while we look for them.

We stop every process that we find, so that it cannot fork any more. When no new one appears, we kill them all.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from duckrow.engines.local.processes.processes import Trace, processes_of, send
from duckrow.kernel.process import Process, all_pids, read_process

_LONGEST_S = 0.25  # then we kill what we found, and the caller looks again a little later


def kill_tree(trace_now: Callable[[], Trace]) -> bool:
    """Kill every process of the attempt; whether there were any. The trace may grow meanwhile: orphans come to us."""
    members = _stop_all(trace_now)
    for process in members.values():
        send(process, signal.SIGKILL)
    return bool(members)


def _stop_all(trace_now: Callable[[], Trace]) -> dict[int, Process]:
    members: dict[int, Process] = {}
    deadline = time.monotonic() + _LONGEST_S
    while True:
        seen = set(all_pids())
        new = [process for process in processes_of(trace_now()) if process.pid not in members]
        _stop(new, members)
        while _stop_newcomers(trace_now, members, seen) and time.monotonic() < deadline:
            pass
        if not new or time.monotonic() > deadline:
            return members


def _stop_newcomers(trace_now: Callable[[], Trace], members: dict[int, Process], seen: set[int]) -> bool:
    """Look only at new PIDs. This is quick enough to catch up with a chain of forks.

    Whether to look again: some belonged to the attempt, or had ended and may have left a child.
    """
    newcomers = sorted(set(all_pids()) - seen)
    seen.update(newcomers)
    again = False
    trace = trace_now() if newcomers else None
    for pid in newcomers:
        process = read_process(pid)
        if process is None or process.zombie:
            again = True
        elif trace is not None and (process.parent in members or trace.has(process)):
            _stop([process], members)
            again = True
    return again


def _stop(processes: list[Process], members: dict[int, Process]) -> None:
    for process in processes:
        if process.pid != os.getpid():
            send(process, signal.SIGSTOP)
            members[process.pid] = process
