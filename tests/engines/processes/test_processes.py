"""The processes of an attempt: which are certainly its own."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.processes.processes import (
    DAEMON_TAG,
    Trace,
    attempts_of,
    first_process_of,
    is_same_process,
    processes_of,
    tag_of,
)
from duckrow.kernel.process import TICK_S, children_of, environment_of, read_process
from tests.conftest import until
from tests.kernel.begin import Begin


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


def pids_of(tag: str, leader: int | None = None, sure_until: float = math.inf) -> list[int]:
    return [process.pid for process in processes_of(Trace(tag, leader, sure_until))]


def test_a_process_is_known_by_its_start(begin: Begin) -> None:
    pid = begin("sleep", "600").pid
    assert is_same_process(pid, now())
    assert is_same_process(pid, now() + 1000)


def test_a_later_process_with_the_same_pid_is_another_one(begin: Begin) -> None:
    seen_before = now() - 1
    assert not is_same_process(begin("sleep", "600").pid, seen_before)


# -- which are they -------------------------------------------------------------------------------------------------


def test_processes_are_found_by_their_tag_wherever_they_are(begin: Begin, tag: str) -> None:
    pids = [begin("sleep", "600", tag=tag, session=session).pid for session in (False, True)]
    begin("sleep", "600", tag=f"{tag}0")
    begin("sleep", "600")
    assert pids_of(tag) == sorted(pids)


def test_a_process_belongs_to_an_attempt_of_this_or_another_duckrow_or_to_none(begin: Begin, tag: str) -> None:
    pid = begin("sleep", "600", tag=tag).pid
    assert attempts_of([pid], {tag: 7}, lambda _: True) == {pid: 7}
    assert attempts_of([pid], {}, lambda _: True) == {pid: -7}
    assert attempts_of([pid], {}, lambda _: False) == {pid: -1}
    for of_daemon in (DAEMON_TAG, f"mps.{tag}/mps"):
        daemon = begin("sleep", "600", tag=of_daemon).pid
        assert attempts_of([daemon], {}, lambda _: True) == {daemon: 0}


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


def test_who_was_born_into_a_session_while_it_was_the_attempts_is_its_own(begin: Begin, tag: str) -> None:
    leader, member = begin.shell("sleep 60 & echo $!; wait", session=True)
    later = now() + 1
    assert pids_of(tag, leader, sure_until=later) == sorted([leader, member])


def test_the_session_of_whoever_got_the_pid_later_is_a_strangers(begin: Begin, tag: str) -> None:
    known_until = now()
    until(lambda: now() > known_until + 2 * TICK_S, "a later tick")
    leader, _ = begin.shell("sleep 60 & echo $!; wait", session=True)
    assert pids_of(tag, leader, sure_until=known_until) == []


def test_orphans_that_can_only_be_its_own_are_found_with_their_children(begin: Begin, tag: str) -> None:
    orphan, child = begin.shell("sleep 60 & echo $!; wait")
    assert [p.pid for p in processes_of(Trace(tag, orphans=[orphan]))] == sorted([orphan, child])


def test_the_oldest_leader_of_a_session_with_the_tag_is_the_first_process(begin: Begin, tag: str) -> None:
    assert first_process_of(tag) is None
    begin("sleep", "60", tag=tag)
    leader = begin("sleep", "60", tag=tag, session=True)
    begin("sleep", "60", tag=tag, session=True)
    found = first_process_of(tag)
    assert found is not None
    assert found.pid == leader.pid


def test_we_are_no_part_of_an_attempt_of_ours(begin: Begin, tag: str) -> None:
    child = begin("sleep", "600").pid
    found = pids_of(tag, os.getsid(0))
    assert os.getpid() not in found
    assert child in found


def test_tags_of_two_attempts_differ() -> None:
    assert len({tag_of("journal", 1), tag_of("journal", 11), tag_of("other", 1)}) == 3
