"""Who is who: what /proc tells of processes, and that nobody is taken for another."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.kernel.process import (
    ChildrenList,
    PidSpace,
    boot_id,
    catches,
    children_of,
    has_ended,
    identity_of,
    is_alive,
    open_pidfd,
    open_pidfd_of,
    our_pid_space,
    pid_in,
    pid_space_from,
    read_process,
    signal_process,
    space_in,
)
from tests.conftest import until
from tests.kernel.begin import Begin

NOBODY = 1 << 22  # beyond the highest PID that Linux gives out


@pytest.fixture
def begin() -> Iterator[Begin]:
    beginner = Begin()
    yield beginner
    beginner.end()


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# -- is it there ----------------------------------------------------------------------------------------------------


def test_a_process_is_known_by_its_start(begin: Begin) -> None:
    pid = begin("sleep", "60").pid
    identity = identity_of(pid)
    assert is_alive(identity)
    assert (pid_in(identity), space_in(identity)) == (pid, our_pid_space())


def test_a_later_process_with_the_same_pid_is_another_one(begin: Begin) -> None:
    process = begin("sleep", "60")
    pid, start, space = identity_of(process.pid).split(":")
    for other in (
        f"{pid}:{int(start) - 1}:{space}",
        f"{pid}:{start}:another boot.1",
        f"{pid}:{start}:{space}1",
        pid,
        "",
    ):
        assert not is_alive(other)
        assert open_pidfd_of(other) is None
        assert not signal_process(other, signal.SIGKILL)
    assert process.poll() is None


def test_a_signal_reaches_the_very_process(begin: Begin) -> None:
    process = begin("sleep", "60")
    identity = identity_of(process.pid)
    assert signal_process(identity, signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM
    assert not signal_process(identity, signal.SIGTERM)


def test_this_boot_has_a_name() -> None:
    assert len(boot_id()) == 36
    assert our_pid_space().boot == boot_id() == boot_id()


def test_a_pid_space_is_read_as_it_was_written() -> None:
    assert pid_space_from(str(our_pid_space())) == our_pid_space()
    assert pid_space_from("boot.4026531836") == PidSpace("boot", "4026531836")
    assert pid_space_from("boot.") == PidSpace("boot", "")
    assert pid_space_from("") is pid_space_from("garbage") is None


def test_a_process_whose_first_thread_has_ended_is_still_at_work(begin: Begin) -> None:
    script = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=[60]).start(); "
    process = begin("python3", "-c", script + "ctypes.CDLL(None).syscall(60, 0)")  # exit of this thread alone
    state = Path(f"/proc/{process.pid}/stat")
    until(lambda: state.read_text().rpartition(")")[2].split()[0] == "Z", "the end of the first thread")
    assert is_alive(identity_of(process.pid))
    assert has_ended(identity_of(process.pid))  # of a host, which ends with its first thread


def test_a_zombie_is_not_there_any_more(begin: Begin) -> None:
    pid = begin("true").pid
    until(lambda: (found := read_process(pid)) and found.zombie, "its end")
    assert not identity_of(pid)


def test_a_process_that_is_gone_is_not_there(begin: Begin) -> None:
    process = begin("true")
    process.wait()
    assert read_process(process.pid) is None
    assert not identity_of(process.pid)


def test_a_process_is_read_whatever_its_name(begin: Begin, tmp_path: Path) -> None:
    odd = tmp_path / "a) Z (1 2 3"
    odd.symlink_to("/bin/sleep")
    pid = begin(str(odd), "60", session=True).pid
    until(lambda: ") Z (" in Path(f"/proc/{pid}/comm").read_text(), "the new name")
    found = read_process(pid)
    assert found is not None
    assert (found.pid, found.parent, found.session, found.zombie) == (pid, os.getpid(), pid, False)
    assert found.started_s == pytest.approx(now(), abs=5)


def test_the_children_of_a_process_are_known(begin: Begin) -> None:
    parent, child = begin.shell("sleep 60 & echo $!; wait")
    assert children_of(parent) == [child]
    assert parent in children_of(os.getpid())
    assert children_of(NOBODY) == []


def test_what_a_thread_has_forked_is_a_child_too(begin: Begin) -> None:
    fork = "p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    code = f"import subprocess, threading\ndef fork():\n    {fork}\nthreading.Thread(target=fork).start()"
    parent = begin(sys.executable, "-c", code)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    begin.end_with_test(child)
    assert children_of(parent.pid) == [child]


def test_our_own_children_are_known_at_each_look(begin: Begin) -> None:
    children = ChildrenList()
    process = begin("sleep", "60")
    assert process.pid in children.read()
    assert children.count() == len(children.read())
    process.kill()
    process.wait()
    assert process.pid not in children.read()


# -- what they hear -------------------------------------------------------------------------------------------------


def test_a_process_catches_just_the_signals_that_it_handles(begin: Begin) -> None:
    shell, _ = begin.shell("trap : USR2; trap '' USR1; sleep 60 & echo $!; wait")
    assert catches(shell, signal.SIGUSR2)
    assert not catches(shell, signal.SIGUSR1), "it ignores that one"
    assert not catches(shell, signal.SIGTERM)
    assert not catches(NOBODY, signal.SIGUSR2)


def test_the_end_of_a_process_can_be_watched(begin: Begin) -> None:
    process = begin("true")
    fd = open_pidfd(process.pid)
    assert fd is not None
    os.close(fd)
    process.wait()
    assert open_pidfd(process.pid) is None
