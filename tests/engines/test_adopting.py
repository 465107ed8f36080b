"""Attempts of dead hosts: what is evident at once is told at once, and what is not is waited for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Ended, NeverBegan, Report, Started, Vanished
from duckrow.engines.local.adopting import Adopting
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.keeper.journal import JournalWriter
from duckrow.engines.local.processes.attempt_processes import AttemptProcesses
from duckrow.engines.local.processes.children import Children
from duckrow.engines.local.processes.end_watch import EndWatch
from duckrow.kernel.process import identity_of
from duckrow.scheduler.reactor import EpollReactor
from tests.conftest import DEADLINE_S, until
from tests.core.language import attempt


class Bench:
    """A host that adopts, beside the journal of a dead one, which its keeper still writes until `keeper_dies`."""

    def __init__(self, folder: Path, reactor: EpollReactor) -> None:
        self.reactor = reactor
        self.journal = JournalWriter(str(folder))
        self.told: list[Report] = []
        self.watched: dict[int, LiveAttempt] = {}
        groups = AttemptGroups(self.reactor, str(folder), "feedfacecafe")
        processes = AttemptProcesses("feedfacecafe", Children(set()), groups, in_our_session=False)
        self.adopting = Adopting(
            self.reactor,
            str(folder),
            self.watched,
            processes,
            groups,
            EndWatch(self.reactor),
            lambda attempt, report: self.told.append(report),
        )

    def attempt(self) -> LiveAttempt:
        adopted = attempt(keeper=self.journal.name)
        self.watched[adopted.id] = adopted
        return adopted

    def next_word(self) -> Any:
        def look() -> Any:
            self.reactor.wait(0)
            return self.told

        return until(look, "a word about it").pop(0)

    def keeper_dies(self) -> None:
        os.close(self.journal.fd)


@pytest.fixture
def bench(tmp_path: Path, reactor: EpollReactor) -> Bench:
    return Bench(tmp_path, reactor)


def test_an_end_that_the_journal_has_is_told_at_once(bench: Bench) -> None:
    adopted = bench.attempt()
    bench.journal.begin([adopted.id])
    bench.journal.ended(adopted.id, 21 << 8)
    bench.keeper_dies()
    bench.adopting.settle(adopted)
    end = bench.told.pop()
    assert isinstance(end, Ended)
    assert (end.attempt_id, end.exit_code) == (adopted.id, 21)


def test_one_that_lives_is_told_as_started_and_its_end_when_the_keeper_has_written_it(
    bench: Bench, process: subprocess.Popen[bytes]
) -> None:
    adopted = bench.attempt()
    bench.journal.begin([adopted.id])
    bench.journal.started(adopted.id, process.pid)
    bench.journal.catch_up()
    bench.adopting.settle(adopted)
    assert bench.told.pop() == Started(adopted.id, process.pid, identity_of(process.pid))
    assert adopted.pid == process.pid
    process.communicate()
    bench.reactor.wait(DEADLINE_S)
    assert bench.told == []  # the keeper has not written yet how
    bench.journal.ended(adopted.id, 0)
    assert bench.next_word().exit_code == 0
    bench.keeper_dies()


def test_one_whose_host_died_before_it_did_anything_never_began(bench: Bench) -> None:
    adopted = bench.attempt()
    bench.keeper_dies()
    bench.adopting.settle(adopted)
    assert bench.told == [NeverBegan(adopted.id)]


def test_one_that_is_gone_with_its_host_and_keeper_has_vanished(bench: Bench, process: subprocess.Popen[bytes]) -> None:
    adopted = bench.attempt()
    bench.journal.begin([adopted.id])
    bench.journal.started(adopted.id, process.pid)
    bench.journal.catch_up()
    process.communicate()
    bench.keeper_dies()
    bench.adopting.settle(adopted)
    end = bench.told.pop()
    assert isinstance(end, Vanished)
    assert "no scheduler was watching" in end.reason
    assert adopted.pid == process.pid


def test_an_attempt_that_the_engine_no_longer_has_is_left_alone(bench: Bench) -> None:
    adopted = bench.attempt()
    del bench.watched[adopted.id]
    bench.keeper_dies()
    bench.adopting.settle(adopted)
    assert bench.told == []
