"""The processes of an attempt: are they there, which are they, and what do they listen to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.processes import (
    TAG,
    ChildrenList,
    catches,
    children_of,
    environment_of,
    is_same_process,
    open_pidfd,
    processes_of,
    read_process,
    send,
    send_to_group,
    tag_of,
)
from tests.conftest import is_running, until

NOBODY = 1 << 22  # beyond the highest PID that Linux gives out


class Begin:
    """Starts processes that end with the test."""

    def __init__(self) -> None:
        self._begun: list[subprocess.Popen[str]] = []
        self._others: list[int] = []

    def __call__(self, *words: str, tag: str = "", session: bool = False) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words,
            env={"PATH": os.environ["PATH"], **({TAG: tag} if tag else {})},
            start_new_session=session,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._begun.append(process)
        return process

    def shell(self, script: str, tag: str = "", session: bool = False) -> tuple[int, int]:
        """The PIDs of a shell and of the process whose PID it prints."""
        process = self("/bin/sh", "-c", script, tag=tag, session=session)
        assert process.stdout is not None
        child = int(process.stdout.readline())
        self.end_with_test(child)
        return process.pid, child

    def end_with_test(self, pid: int) -> None:
        self._others.append(pid)

    def end(self) -> None:
        for pid in self._others:
            send(pid, signal.SIGKILL)
        for process in self._begun:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        until(lambda: not any(map(is_running, self._others)), "the end of all processes")


@pytest.fixture
def begin() -> Iterator[Begin]:
    beginner = Begin()
    yield beginner
    beginner.end()


@pytest.fixture
def tag(tmp_path: Path) -> str:
    """One that no other test has."""
    return tag_of(str(tmp_path), 7)


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def pids_of(tag: str, leader: int | None = None) -> list[int]:
    return [process.pid for process in processes_of(tag, leader)]


# -- is it there ----------------------------------------------------------------------------------------------------


def test_a_process_is_known_by_its_start(begin: Begin) -> None:
    pid = begin("sleep", "600").pid
    assert is_same_process(pid, now())
    assert is_same_process(pid, now() + 1000)


def test_a_later_process_with_the_same_pid_is_another_one(begin: Begin) -> None:
    seen_before = now() - 1
    assert not is_same_process(begin("sleep", "600").pid, seen_before)


def test_a_zombie_is_not_there_any_more(begin: Begin) -> None:
    pid = begin("true").pid
    until(lambda: (found := read_process(pid)) and found.zombie, "its end")
    assert not is_same_process(pid, now())


def test_a_process_that_is_gone_is_not_there(begin: Begin) -> None:
    process = begin("true")
    process.wait()
    assert read_process(process.pid) is None
    assert not is_same_process(process.pid, now())


def test_a_process_is_read_whatever_its_name(begin: Begin, tmp_path: Path) -> None:
    odd = tmp_path / "a) Z (1 2 3"
    odd.symlink_to("/bin/sleep")
    pid = begin(str(odd), "60", session=True).pid
    until(lambda: ") Z (" in Path(f"/proc/{pid}/comm").read_text(), "the new name")
    found = read_process(pid)
    assert found is not None
    assert (found.pid, found.parent, found.session, found.zombie) == (pid, os.getpid(), pid, False)
    assert found.started_s == pytest.approx(now(), abs=5)


# -- which are they -------------------------------------------------------------------------------------------------


def test_processes_are_found_by_their_tag_wherever_they_are(begin: Begin, tag: str) -> None:
    pids = [begin("sleep", "600", tag=tag, session=session).pid for session in (False, True)]
    begin("sleep", "600", tag=f"{tag}0")
    begin("sleep", "600")
    assert pids_of(tag) == sorted(pids)


def test_processes_are_found_by_their_session_without_a_tag(begin: Begin, tag: str) -> None:
    leader, member = begin.shell("sleep 600 & echo $!; wait", session=True)
    begin("sleep", "600", session=True)
    assert pids_of(tag, leader) == sorted([leader, member])
    assert pids_of(tag) == []


def test_descendants_are_found_without_tag_and_session(begin: Begin, tag: str) -> None:
    parent, child = begin.shell("env -i setsid sh -c 'sleep 600 & wait' & echo $!; wait", tag=tag)
    until(lambda: environment_of(child) == [b""], "its new environment")
    until(lambda: (found := read_process(child)) and found.session == child, "its new session")
    (grandchild,) = until(lambda: children_of(child), "its child")
    begin.end_with_test(grandchild)
    assert pids_of(tag) == sorted([parent, child, grandchild])


def test_what_an_ended_leader_has_left_behind_is_found(begin: Begin, tag: str) -> None:
    leader, left = begin.shell("sleep 600 >/dev/null & echo $!", session=True)
    until(lambda: (found := read_process(leader)) and found.zombie, "its end")
    assert pids_of(tag, leader) == [left]


def test_zombies_do_not_count(begin: Begin, tag: str) -> None:
    pid = begin("true", tag=tag, session=True).pid
    until(lambda: (found := read_process(pid)) and found.zombie, "its end")
    assert pids_of(tag, pid) == []


def test_we_are_no_part_of_an_attempt_of_ours(begin: Begin, tag: str) -> None:
    child = begin("sleep", "600").pid
    found = pids_of(tag, os.getsid(0))
    assert os.getpid() not in found
    assert child in found


def test_the_children_of_a_process_are_known(begin: Begin) -> None:
    parent, child = begin.shell("sleep 600 & echo $!; wait")
    assert children_of(parent) == [child]
    assert parent in children_of(os.getpid())
    assert children_of(NOBODY) == []


def test_our_own_children_are_known_at_each_look(begin: Begin) -> None:
    children = ChildrenList()
    process = begin("sleep", "600")
    assert process.pid in children.read()
    process.kill()
    process.wait()
    assert process.pid not in children.read()


# -- what they hear -------------------------------------------------------------------------------------------------


def test_a_process_catches_just_the_signals_that_it_handles(begin: Begin) -> None:
    shell, _ = begin.shell("trap : USR2; trap '' USR1; sleep 600 & echo $!; wait")
    assert catches(shell, signal.SIGUSR2)
    assert not catches(shell, signal.SIGUSR1), "it ignores that one"
    assert not catches(shell, signal.SIGTERM)
    assert not catches(NOBODY, signal.SIGUSR2)


def test_a_signal_to_nobody_is_no_trouble() -> None:
    send(NOBODY, signal.SIGTERM)
    send_to_group(NOBODY, signal.SIGTERM)


def test_a_signal_to_a_group_reaches_all_of_it(begin: Begin) -> None:
    leader, member = begin.shell("sleep 600 & echo $!; wait", session=True)
    send_to_group(leader, signal.SIGTERM)
    until(lambda: not is_running(leader) and not is_running(member), "their end")


def test_the_end_of_a_process_can_be_watched(begin: Begin) -> None:
    process = begin("true")
    fd = open_pidfd(process.pid)
    assert fd is not None
    os.close(fd)
    process.wait()
    assert open_pidfd(process.pid) is None


def test_tags_of_two_attempts_differ() -> None:
    assert len({tag_of("journal", 1), tag_of("journal", 11), tag_of("other", 1)}) == 3
