"""The reactor of real hosts: files, timers and signals, each in its turn."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from duckrow.scheduler.reactor import EpollReactor


@pytest.fixture
def pipes() -> Iterator[list[tuple[int, int]]]:
    made = [os.pipe() for _ in range(2)]
    yield made
    for ends in made:
        for fd in ends:
            os.close(fd)


def test_timers_ring_in_the_order_in_which_they_are_due(reactor: EpollReactor) -> None:
    rang: list[str] = []
    reactor.later(0.0, lambda: rang.append("first"))
    reactor.later(0.0, lambda: rang.append("second"))
    reactor.later(3600.0, lambda: rang.append("much later"))
    reactor.later(-1.0, lambda: rang.append("overdue"))
    reactor.wait(None)  # the first of them is due: it does not sleep
    assert rang == ["overdue", "first", "second"]
    reactor.wait(0)
    assert len(rang) == 3


def test_a_timer_may_set_another_one(reactor: EpollReactor) -> None:
    rang: list[int] = []
    reactor.later(0.0, lambda: reactor.later(0.0, lambda: rang.append(1)))
    reactor.wait(None)
    reactor.wait(0)
    assert rang == [1]


def test_a_file_that_is_no_longer_watched_calls_nobody_even_if_it_was_ready(
    reactor: EpollReactor, pipes: list[tuple[int, int]]
) -> None:
    called: list[int] = []
    (one, tell_one), (other, tell_other) = pipes

    def first_called(mine: int, theirs: int) -> None:
        called.append(mine)
        reactor.unwatch(theirs)

    reactor.watch(one, lambda: first_called(one, other))
    reactor.watch(other, lambda: first_called(other, one))
    os.write(tell_one, b"!")
    os.write(tell_other, b"!")
    reactor.wait(0)
    assert len(called) == 1
    reactor.unwatch(other)
    reactor.unwatch(one)  # once too often does no harm
    reactor.wait(0)
    assert len(called) == 1


def test_that_a_signal_has_come_is_known_before_its_call_is_made(reactor: EpollReactor) -> None:
    called: list[int] = []
    before = signal.getsignal(signal.SIGUSR1)
    try:
        reactor.on_signal(signal.SIGUSR1, lambda: called.append(1))
        assert not reactor.heard(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert reactor.heard(signal.SIGUSR1)
        assert not reactor.heard(signal.SIGUSR1), "once is enough"
        assert called == []
        reactor.wait(0)
        assert called == [1]
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGUSR1, before)


def test_each_signal_counts_and_many_children_count_once(
    reactor: EpollReactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    wake_up: list[int] = []
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda fd, warn_on_full_buffer: wake_up.append(fd))
    heard: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        reactor.on_signal(number, lambda number=number: heard.append(number))  # type: ignore[misc]
    (told,) = wake_up
    sent = [signal.SIGINT, signal.SIGCHLD, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM]
    os.write(told, bytes(sent))  # as the interpreter does
    reactor.wait(0)
    assert heard == [signal.SIGCHLD, signal.SIGINT, signal.SIGINT, signal.SIGTERM]
