"""Which signals are copies of one another."""

from __future__ import annotations

import itertools

import pytest

from duckrow.engines.local.keeper.signal_counting import COPY_S, SentSignals, TwiceHeard

INT, TERM = 2, 15


def test_what_processes_send_within_a_second_is_one_and_later_another() -> None:
    sent = SentSignals()
    times = [0.0, 0.001, COPY_S * 0.9, COPY_S * 1.1]
    assert [sent.is_new(TERM, False, now) for now in times] == [True, False, False, True]
    assert sent.is_new(INT, False, times[-1])


def test_a_terminal_sends_each_once_and_a_process_passes_it_on() -> None:
    sent = SentSignals()
    heard = [(True, 0.0), (False, 0.01), (True, 0.3), (False, 0.31)]
    assert [sent.is_new(INT, by_terminal, now) for by_terminal, now in heard] == [True, False, True, False]


@pytest.mark.parametrize("order", sorted(set(itertools.permutations("hhkk"))))
@pytest.mark.parametrize("apart_s", [2 * COPY_S])
def test_two_signals_to_both_are_two_in_whatever_order_they_are_heard_and_told(order: str, apart_s: float) -> None:
    twice, now, counted = TwiceHeard(), 0.0, 0
    for way in order:
        now += apart_s
        counted += twice.heard(now) if way == "h" else twice.told()
    assert counted == 2


@pytest.mark.parametrize("order", sorted(set(itertools.permutations("hk"))))
@pytest.mark.parametrize("apart_s", [0.0, 100.0])
def test_one_signal_to_both_is_one_however_late_one_of_them_hears_it(order: str, apart_s: float) -> None:
    twice = TwiceHeard()
    assert sum(twice.heard(n * apart_s) if way == "h" else twice.told() for n, way in enumerate(order)) == 1


def test_what_the_keeper_tells_twice_is_two_though_the_host_has_heard_one() -> None:
    twice = TwiceHeard()
    assert [twice.heard(0.0), twice.told(), twice.heard(0.1), twice.told()] == [True, False, False, True]


def test_a_signal_to_the_host_alone_does_not_hide_a_later_one_to_the_keeper_alone() -> None:
    twice = TwiceHeard()
    assert twice.heard(0.0)
    twice.settle()
    assert twice.told()
    twice.settle()
    assert twice.heard(10.0)
