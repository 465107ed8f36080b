"""Moments of a clock that the kernel tells."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

import pytest

from duckrow.scheduler.alarm import KernelAlarm

DEADLINE_MS = 60_000


@pytest.fixture(params=[time.CLOCK_REALTIME, time.CLOCK_BOOTTIME], ids=["wall", "boot"])
def clock(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def alarm(clock: int) -> Iterator[KernelAlarm]:
    alarm = KernelAlarm(clock)
    yield alarm
    alarm.close()


def rings(alarm: KernelAlarm, within_ms: int = 0) -> bool:
    poller = select.poll()
    poller.register(alarm.fd, select.POLLIN)
    return bool(poller.poll(within_ms))


def test_it_rings_when_its_moment_has_come_and_not_before(alarm: KernelAlarm, clock: int) -> None:
    moment = time.clock_gettime(clock) + 0.05
    alarm.set_for(moment)
    assert rings(alarm, DEADLINE_MS)
    assert time.clock_gettime(clock) >= moment, "who wakes must find that the moment has come"


def test_it_rings_at_once_when_its_moment_is_past(alarm: KernelAlarm, clock: int) -> None:
    for moment in (time.clock_gettime(clock) - 1000, 0.0, 0.9999999999):
        alarm.set_for(moment)
        assert rings(alarm, DEADLINE_MS)
        alarm.hush()


def test_it_is_quiet_when_it_was_heard_and_when_it_is_set_for_no_moment(alarm: KernelAlarm, clock: int) -> None:
    assert not rings(alarm)
    alarm.set_for(time.clock_gettime(clock) - 1)
    assert rings(alarm, DEADLINE_MS)
    alarm.hush()
    assert not rings(alarm)
    alarm.set_for(time.clock_gettime(clock) + 3600)
    alarm.set_for(None)
    alarm.hush()
    assert not rings(alarm)


def test_it_is_set_again_for_the_same_moment_once_it_has_rung(alarm: KernelAlarm, clock: int) -> None:
    """The clock was set meanwhile, and the moment has yet to come again."""
    moment = time.clock_gettime(clock) - 1
    for _ in range(2):
        alarm.set_for(moment)
        assert rings(alarm, DEADLINE_MS)
        alarm.hush()


def test_a_moment_beyond_all_calendars_is_no_trouble(alarm: KernelAlarm) -> None:
    alarm.set_for(253_402_300_799.0)  # the last second of the year 9999
    assert not rings(alarm)
