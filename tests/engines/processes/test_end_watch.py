"""Processes whose end we want to know of at once."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

from duckrow.engines.local.processes.end_watch import EndWatch
from duckrow.kernel.process import identity_of
from duckrow.scheduler.reactor import EpollReactor
from tests.conftest import DEADLINE_S


def pidfds() -> int:
    """How many of our open files tell of the end of a process."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing itself
            count += os.readlink(f"/proc/self/fd/{name}") == "anon_inode:[pidfd]"
    return count


def test_we_are_called_once_when_a_process_ends_and_no_file_stays_open(
    reactor: EpollReactor, process: subprocess.Popen[bytes]
) -> None:
    calls: list[str] = []
    before = pidfds()
    ends = EndWatch(reactor)
    assert ends.watch(process.pid, lambda: calls.append("by its PID"))
    assert ends.watch_exactly(identity_of(process.pid), lambda: calls.append("exactly it"))
    assert pidfds() == before + 2
    reactor.wait(0)
    assert calls == []
    assert process.stdin is not None
    process.stdin.close()
    while len(calls) < 2:
        reactor.wait(DEADLINE_S)
    reactor.wait(0)
    assert sorted(calls) == ["by its PID", "exactly it"]
    assert pidfds() == before


def test_one_that_has_ended_is_not_watched(reactor: EpollReactor, process: subprocess.Popen[bytes]) -> None:
    identity = identity_of(process.pid)
    process.communicate()
    assert not EndWatch(reactor).watch(process.pid, lambda: None)
    assert not EndWatch(reactor).watch_exactly(identity, lambda: None)


def test_another_process_with_the_same_pid_is_not_watched(
    reactor: EpollReactor, process: subprocess.Popen[bytes]
) -> None:
    pid, began, space = identity_of(process.pid).split(":", 2)
    earlier = f"{pid}:{int(began) - 1}:{space}"
    assert not EndWatch(reactor).watch_exactly(earlier, lambda: None)
