"""The lock of the journal's writers: nobody waits for a process that is dead, and the host for none that is stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from duckrow.engines.local.keeper import write_lock
from duckrow.engines.local.keeper.write_lock import WriteLock


@pytest.fixture
def others() -> Iterator[list[int]]:
    """Processes that share the lock; those that a test leaves end with it."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fork_holder(lock: WriteLock, others: list[int], then: Callable[[], object]) -> int:
    """A process that has the lock when this returns, and then does this."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        lock.be_patient()
        with lock:
            os.write(writing, b".")
            then()
        os._exit(0)
    others.append(pid)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return pid


def test_a_lock_that_is_not_shared_is_free() -> None:
    lock = WriteLock()
    with lock:
        assert not lock.is_shared
        assert lock.fd is None


def test_the_host_waits_for_another_process_that_writes(others: list[int]) -> None:
    lock = WriteLock()
    lock.share(lambda: None)
    reading, writing = os.pipe()
    fork_holder(lock, others, lambda: os.write(writing, b"written"))
    with lock:
        assert os.read(reading, 99) == b"written"


def test_another_process_waits_for_the_host(others: list[int]) -> None:
    lock = WriteLock()
    lock.share(lambda: None)
    reading, writing = os.pipe()
    with lock:
        pid = os.fork()
        if pid == 0:
            lock.be_patient()
            with lock:
                os.write(writing, b"second")
            os._exit(0)
        others.append(pid)
        os.write(writing, b"first ")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert os.read(reading, 99) == b"first second"


def test_the_lock_of_a_process_that_dies_is_free(others: list[int]) -> None:
    lock = WriteLock()
    lock.share(lambda: None)
    fork_holder(lock, others, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with lock:
        pass


def test_the_host_ends_a_process_that_keeps_the_lock(others: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_lock, "_PATIENCE_S", 0.05)
    lock = WriteLock()
    ended = []

    def end_others() -> None:
        ended.append(holder)
        os.kill(holder, signal.SIGKILL)

    lock.share(end_others)
    holder = fork_holder(lock, others, signal.pause)
    with lock:
        assert set(ended) == {holder}


def test_a_lock_is_its_owners_alone_again_when_all_others_are_dead() -> None:
    lock = WriteLock()
    lock.share(lambda: None)
    lock.share_no_more()
    with lock:
        assert not lock.is_shared
