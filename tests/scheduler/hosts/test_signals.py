"""Signals that come to a host twice, by its keeper and by itself, are counted once."""

from __future__ import annotations

import signal

import pytest

from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.reactor import HandReactor
from duckrow.engines.local.keeper.signal_counting import COPY_S
from duckrow.scheduler.hosts.signals import HostSignals

INT, TERM = signal.SIGINT.value, signal.SIGTERM.value


class HandLink:
    """What the keeper tells, and how often it was asked whether that is all."""

    def __init__(self) -> None:
        self.told: list[int | None] = []
        self.asked = 0
        self.fd = 0

    def ask(self) -> None:
        self.asked += 1

    def news(self) -> int | None:
        return self.told.pop(0)


class Heard:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.link = HandClock(), HandLink()
        self.reactor = HandReactor(self.clock)
        self.count = 0
        self.alone = 0
        self.is_watched = True
        self.raised: list[int] = []
        monkeypatch.setattr(self.reactor, "watch", lambda _fd, call: setattr(self, "hear", call))
        monkeypatch.setattr(self.reactor, "unwatch", lambda _fd: setattr(self, "is_watched", False))
        monkeypatch.setattr(signal, "raise_signal", self.raised.append)
        signals = HostSignals(self.reactor, self.link, lambda: self.clock.now().mono)  # type: ignore[arg-type]
        signals.on(INT, self._count, self._note_alone)

    def _count(self) -> None:
        self.count += 1

    def _note_alone(self) -> None:
        self.alone += 1

    def by_keeper(self, number: int | None = INT) -> None:
        self.link.told.append(number)
        self.hear()

    def hear(self) -> None:
        raise AssertionError("nobody listens to the keeper")

    def directly(self) -> None:
        self.reactor.signal(INT)

    def later(self, seconds: float) -> None:
        self.clock.go_on(seconds)
        self.reactor.wait(0)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return Heard(monkeypatch)


def test_one_that_comes_both_ways_is_one_in_either_order(heard: Heard) -> None:
    heard.directly()
    heard.by_keeper()
    assert heard.count == 1
    heard.later(COPY_S)
    heard.by_keeper()
    heard.directly()
    assert heard.count == 2


def test_one_that_comes_only_one_way_counts(heard: Heard) -> None:
    heard.by_keeper()
    assert heard.count == 1
    heard.by_keeper()
    assert heard.count == 2


def test_after_a_quiet_moment_the_keeper_is_asked_whether_that_is_all(heard: Heard) -> None:
    assert heard.link.asked == 1
    heard.directly()
    heard.later(COPY_S - 0.1)
    assert heard.link.asked == 1
    heard.later(0.1)
    assert heard.link.asked == 2


def test_what_the_keeper_did_not_get_was_sent_to_the_host_alone(heard: Heard) -> None:
    heard.directly()
    heard.later(COPY_S)
    heard.by_keeper(0)  # that is all
    heard.by_keeper()
    assert heard.count == 2


@pytest.mark.parametrize("ways", [["directly"], ["by_keeper"], ["directly", "by_keeper"], []])
def test_what_was_sent_to_one_process_is_known_once_no_copy_can_come(heard: Heard, ways: list[str]) -> None:
    for way in ways:
        getattr(heard, way)()
    assert heard.alone == 0
    heard.later(COPY_S)
    heard.by_keeper(0)
    assert heard.alone == (len(ways) == 1)


def test_an_answer_to_an_earlier_question_settles_nothing(heard: Heard) -> None:
    heard.directly()
    heard.later(COPY_S)
    heard.directly()  # after the question
    heard.by_keeper(0)
    heard.by_keeper()
    heard.by_keeper()
    assert heard.count == 2


def test_a_signal_that_nobody_asked_for_does_what_it_does(heard: Heard) -> None:
    heard.by_keeper(TERM)
    assert (heard.raised, heard.count) == ([TERM], 0)


def test_a_keeper_that_is_gone_is_not_listened_to_any_more(heard: Heard) -> None:
    heard.by_keeper(None)
    assert not heard.is_watched
