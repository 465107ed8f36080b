"""Who follows whom, and where each of them waits for its turn."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from duckrow.core.ports import StartOrder
from duckrow.engines.local.kernel_kills import KernelKills
from duckrow.engines.local.lines import Lines
from tests.engines.starters.host import StarterHost


class Bench:
    """Lines, and a host that only notes which attempts it has to start."""

    def __init__(self, host: StarterHost) -> None:
        self.host = host
        self.watched: set[int] = set()
        self.started: list[int] = []
        self.lines = Lines(self.watched, host.starters, host.spawner, KernelKills(), self._start)

    def _start(self, orders: Sequence[StartOrder]) -> None:
        self.started += [order.attempt.id for order in orders]

    def line_up(self, *commands: str) -> list[StartOrder]:
        """The first one runs; these are behind it."""
        line = self.host.line("true", *commands)
        self.watched.add(line[0].attempt.id)
        for order in line[1:]:
            self.lines.add(order)
        return line

    def end(self, order: StartOrder) -> None:
        self.watched.discard(order.attempt.id)
        self.lines.start_next(order.attempt.id)


@pytest.fixture
def bench(host: StarterHost) -> Bench:
    return Bench(host)


def test_a_short_line_stays_with_the_host_which_starts_one_after_the_other(bench: Bench) -> None:
    first, second, third = bench.line_up("true", "true")
    assert len(bench.lines) == 2
    bench.end(first)
    assert bench.started == [second.attempt.id]
    bench.watched.add(second.attempt.id)
    assert len(bench.lines) == 1
    bench.end(second)
    assert bench.started == [second.attempt.id, third.attempt.id]
    assert bench.lines.start_next(third.attempt.id) is None


def test_a_longer_line_goes_to_a_starter_as_a_whole(bench: Bench) -> None:
    first, *others = bench.line_up("true", "true", "true")
    bench.end(first)
    bench.host.wait_for_ends(others)
    assert bench.started == []
    assert len(bench.lines) == 0


def test_only_the_one_whose_turn_is_next_has_its_folder_in_advance(bench: Bench) -> None:
    _, second, third = bench.line_up("true", "true")
    assert os.path.exists(second.attempt.log)
    assert not os.path.exists(third.folder)
    bench.lines.make_ready_behind(second.attempt)
    assert os.path.exists(third.attempt.log)


def test_one_that_stands_down_leaves_no_folder_and_does_not_begin(bench: Bench) -> None:
    first, second = bench.line_up("true")
    assert bench.lines.stand_down(second.attempt)
    assert not os.path.exists(second.folder)
    assert not bench.lines.stand_down(second.attempt)
    bench.end(first)
    assert bench.started == []


def test_of_a_line_that_a_starter_has_one_stands_down_and_the_others_wait_here(bench: Bench) -> None:
    first, second, third, fourth = bench.line_up(bench.host.blocked(), "true", "true")
    bench.end(first)
    bench.host.wait_for_process(second)
    bench.watched.add(second.attempt.id)
    assert not bench.lines.stand_down(second.attempt)
    assert bench.lines.stand_down(fourth.attempt)
    assert len(bench.lines) == 1
    bench.host.unblock()
    bench.host.wait_for_ends([second])
    bench.end(second)
    bench.host.wait_for_ends([third])  # by the starter, which has nothing else to do
    assert not os.path.exists(fourth.folder)


def test_one_that_follows_an_attempt_that_is_gone_begins_at_once(bench: Bench) -> None:
    late = bench.host.order(1, follows=4711)
    bench.lines.add(late)
    other = bench.host.order(2, follows=4711)
    bench.lines.add_here(other)
    assert bench.started == [late.attempt.id, other.attempt.id]
