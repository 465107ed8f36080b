"""Time that is turned by hand: what is due at the end of a span happens within it, whatever the clocks show."""

from __future__ import annotations

import time

import pytest

from duckrow.core.clock import Now
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.reactor import HandReactor
from duckrow.engines.dry.turning import Turning

STARTS = [Now(1_763_298_693.0 + n * 0.137, 1_234.5 + n * 977.77, 4_321.1 + n * 1_003.3) for n in range(50)]


class Bells:
    """Something that rings when a time has come, by each clock."""

    def __init__(self, start: Now) -> None:
        self.clock = HandClock(start)
        self.reactor = HandReactor(self.clock)
        self.turning = Turning(self.clock)
        self.turning.add(self.reactor, lambda: self.reactor.wait(None))
        self.rang: list[str] = []

    def set_for(self, seconds: float) -> None:
        now = self.clock.now()
        self.reactor.later(seconds, lambda: self.rang.append("mono"))
        self.reactor.alarm(time.CLOCK_REALTIME, lambda: self.rang.append("wall")).set_for(now.wall + seconds)
        self.reactor.alarm(time.CLOCK_BOOTTIME, lambda: self.rang.append("boot")).set_for(now.boot + seconds)


@pytest.mark.parametrize("start", STARTS, ids=[f"start-{n}" for n in range(len(STARTS))])
def test_what_is_due_at_the_end_of_several_spans_happens_by_then(start: Now) -> None:
    bells = Bells(start)
    bells.turning.advance(1)
    bells.set_for(6)
    bells.turning.advance(4.9)
    assert bells.rang == []
    bells.turning.advance(1.1)
    assert sorted(bells.rang) == ["boot", "mono", "wall"]
    bells.reactor.close()


def test_the_three_clocks_stay_together_over_many_short_spans() -> None:
    clock = HandClock(STARTS[0])
    for _ in range(10_000):
        clock.go_to(clock.now().mono + 0.1)
    assert clock.now().wall_at_boot == pytest.approx(STARTS[0].wall_at_boot, abs=1e-5)


def test_a_machine_that_sleeps_has_a_monotonic_clock_that_stands_still() -> None:
    clock = HandClock(STARTS[0])
    clock.sleep(100)
    before, after = STARTS[0], clock.now()
    assert (after.mono, after.wall, after.boot) == pytest.approx((before.mono, before.wall + 100, before.boot + 100))
