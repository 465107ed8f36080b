"""The attempts that a host has started: of which something may be left, and which PIDs are surely theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from duckrow.engines.local.processes.children import Children
from duckrow.engines.local.processes.orphans import Orphans
from duckrow.kernel.process import ChildrenList, environment_of, read_process
from tests.conftest import until
from tests.kernel.begin import Begin


@pytest.fixture
def begin() -> Iterator[Begin]:
    beginner = Begin()
    yield beginner
    beginner.end()


def test_something_may_be_left_of_an_attempt_until_it_is_gone() -> None:
    children = Children()
    pid = os.posix_spawn("/bin/true", ["true"], {})
    children.add(pid, 7)
    assert list(children.not_gone) == [(7, pid)]
    until(children.see_ends, "its end")
    assert list(children.not_gone) == [(7, pid)]
    children.report(7)
    children.tell()
    children.settle()
    assert list(children.not_gone) == [(7, None)]  # that PID may be another's from now on
    children.gone(7)
    assert list(children.not_gone) == []


def test_only_attempts_of_which_something_may_be_left_are_remembered_once_their_end_is_on_disk() -> None:
    """A host lives for months, and sees millions of them end."""
    children = Children()
    for attempt_id in (7, 8):
        children.add(os.posix_spawn("/bin/true", ["true"], {}), attempt_id)
    until(lambda: [children.see_ends()] and not children.living, "both ends")
    for attempt_id in (7, 8):
        children.report(attempt_id)
    children.tell()
    children.gone(7)
    assert children.outlived == [8]
    children.settle()
    assert children.outlived == []


def test_the_kernel_forgets_no_end_of_which_the_loop_was_not_told_yet() -> None:
    """It ended while the loop was writing about others: what is on disk does not know of it."""
    children = Children()
    pid = os.posix_spawn("/bin/true", ["true"], {})
    children.add(pid, 7)
    until(children.see_ends, "its end")
    children.report(7)
    children.settle()
    assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    assert pid in children.pids
    children.tell()
    children.settle()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert pid not in children.pids


def test_as_long_as_the_kernel_lists_no_more_children_than_attempts_there_are_no_orphans(begin: Begin) -> None:
    orphans, children = Orphans("journal", in_our_session=False, by_group=lambda pid: None), Children()
    others = ChildrenList().count()  # of the tests
    for attempt_id in (7, 8):
        children.add(os.posix_spawn("/bin/true", ["true"], {}), attempt_id)
    assert orphans.are_none(others + len(children))
    until(lambda: [children.see_ends()] and not children.living, "both ends")
    children.report(7)
    children.tell()
    assert len(children) == 2, "the kernel has not forgotten them"
    assert orphans.are_none(others + len(children))
    children.settle()
    assert len(children) == 1
    assert orphans.are_none(others + len(children))
    begin("sleep", "600")
    assert not orphans.are_none(others + len(children))
    children.report(8)
    children.tell()
    children.settle()


def test_while_an_orphan_is_known_it_is_looked_at_though_the_number_is_right(begin: Begin) -> None:
    orphans = Orphans("journal", in_our_session=False, by_group=lambda pid: None)
    begin("sleep", "600", session=True)
    orphans.look(ours=(), not_gone=[])
    assert not orphans.are_none(ChildrenList().count())


def test_an_orphan_that_comes_after_the_end_of_its_attempt_was_told_is_charged_to_it(begin: Begin) -> None:
    orphans = Orphans("journal", in_our_session=False, by_group=lambda pid: None)
    orphan = begin("env", "-i", "sleep", "600", session=True).pid
    until(lambda: environment_of(orphan) == [b""], "its empty environment")
    orphans.look(ours=(), not_gone=[(7, None)])
    assert orphan in orphans.of(7)


def test_one_that_is_charged_is_stopped_too_though_it_was_known_before(begin: Begin) -> None:
    orphan = begin("sleep", "600", session=True).pid
    orphans = Orphans("journal", in_our_session=False, by_group=lambda pid: 7 if pid == orphan else None)
    orphans.look(ours=(), not_gone=[])
    orphans.halt(7, ours=(), not_gone=[])
    until(lambda: _state_of(orphan) == "T", "its halt")


def _state_of(pid: int) -> str:
    assert read_process(pid) is not None
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
