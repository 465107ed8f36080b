"""Which child is which attempt, if whoever started it died before it could write that down."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.keeper.journal import JournalWriter
from duckrow.engines.local.keeper.unnamed_child import find_of_starters, find_unnamed
from duckrow.engines.local.processes.processes import TAG, tag_of

Begin = Callable[..., int]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[JournalWriter]:
    writer = JournalWriter(str(tmp_path))
    yield writer
    os.close(writer.fd)


@pytest.fixture
def begin(journal: JournalWriter) -> Iterator[Begin]:
    """Start a process, as an engine does it."""
    pids = []

    def begin(command: str, attempt: int | None = None) -> int:
        tag = {} if attempt is None else {TAG: tag_of(journal.name, attempt)}
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", command], {**os.environ, **tag}, setsid=True)
        pids.append(pid)
        return pid

    yield begin
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def ended(pid: int) -> int:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


def begun(journal: JournalWriter, *attempts: int) -> None:
    for attempt in attempts:
        journal.begin_unless(lambda: False, attempt)


def test_living_ones_are_known_by_their_tags(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1, 2)
    second, first = begin("exec sleep 600", 2), begin("exec sleep 600", 1)
    found = find_unnamed(journal.name, journal.read(), [second, first])
    assert found.pids == {1: first, 2: second}
    assert found.never_began == []


def test_one_that_has_ended_is_known_if_there_is_only_one(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1)
    pid = ended(begin("exit 3", 1))
    assert find_unnamed(journal.name, journal.read(), [pid]).pids == {1: pid}


def test_nobody_guesses_which_of_two_that_have_ended_is_which(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1, 2)
    pids = [ended(begin("exit 3", 1)), ended(begin("exit 4", 2))]
    found = find_unnamed(journal.name, journal.read(), pids)
    assert found.pids == {}
    assert found.never_began == []


def test_one_that_ended_as_the_journal_says_is_not_taken_for_another(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1)
    pid = ended(begin("exit 3", 1))
    journal.started(1, pid)
    journal.note_end(1, 3 << 8, b"silent")
    begun(journal, 2)
    found = find_unnamed(journal.name, journal.read(), [pid])
    assert found.pids == {}
    assert found.never_began == [2]


def test_without_a_child_they_never_began(journal: JournalWriter) -> None:
    begun(journal, 1, 2)
    assert find_unnamed(journal.name, journal.read(), []).never_began == [1, 2]


def test_what_a_dead_starter_has_named_is_not_looked_for(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1)
    pid = begin("exec sleep 600", 1)
    journal.started(1, pid)

    def strangers() -> list[int]:
        raise AssertionError("nobody need be looked at")

    assert find_of_starters(journal, {1: pid}, strangers).pids == {1: pid}


def test_what_a_dead_starter_has_not_named_is_named_then(journal: JournalWriter, begin: Begin) -> None:
    begun(journal, 1, 2)
    pid = begin("exec sleep 600", 2)
    found = find_of_starters(journal, {2: None}, lambda: [pid])
    assert found.pids == {2: pid}
    assert journal.read()[2].pid == pid
    assert journal.read()[1].pid is None
