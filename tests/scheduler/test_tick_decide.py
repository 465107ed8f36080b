"""What a tick decides: the same of the same state, and the state stays as it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from random import Random
from typing import Any

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.life.states import Outcome
from duckrow.core.schedule.decide import CORES, MEMORY, plain_ask
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.decide import decide_tick
from duckrow.scheduler.tick.seen import Seen
from tests.core.language import attempt, cpus, gpus, job

NOW = Now(5000.0, 2000.0, 2000.0)


def test_a_decision_changes_nothing_and_is_the_same_each_time() -> None:
    state = HostState(1, gpus(3))
    late = attempt(job(id=1, timeout_s=10.0), started_mono=1000.0)
    state.start(late)
    queue = [job(id=2, project="a"), job(id=3, project="a"), job(id=4)]
    seen = Seen(queue, state.usable(state.seats), BARE, {"project:a": 1})
    before = picture(state, seen)
    decision = decide_tick(state, seen, plain_ask, NOW)
    assert [start.job.id for start in decision.starts] == [2, 4]
    assert [stop.attempt for stop in decision.stops] == [late]
    assert decide_tick(state, seen, plain_ask, NOW) == decision
    assert picture(state, seen) == before
    assert state.booked == {"0": WHOLE}


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_decided_nothing_that_was_given_is_changed(seed: int) -> None:
    random = Random(seed)
    state = HostState(1, [*gpus(4), *cpus(2)])
    for number in range(random.randrange(5)):
        of = job(id=number + 1, timeout_s=random.choice([None, 10.0, 5000.0]), needs=_needs(random))
        holds = [(str(random.randrange(4)), random.choice([WHOLE, WHOLE // 4]))]
        live = attempt(of, started_mono=random.choice([1000.0, 1995.0]), holds=holds)
        if random.random() < 0.3:
            live.begin_stop(Outcome.KILLED, 1999.0 - random.randrange(20))
        state.start(live)
    queue = [
        job(
            id=100 + number,
            gpus=random.choice([None, 0, 1, 2, 4]),
            project=random.choice("ab"),
            needs=_needs(random),
            timeout_s=random.choice([None, 60.0]),
            priority=random.choice([10, 30]),
        )
        for number in range(random.randrange(12))
    ]
    machine = Machine(dict.fromkeys("0123", 24_000), {"1": WHOLE // 3}, cpus=8, mem_mb=64_000)
    room = random.choice([{}, {"project:a": 1}, {CORES: 2, MEMORY: 10_000}])
    seen = Seen(queue, state.usable(state.seats), machine, room)
    before = picture(state, seen)
    decision = decide_tick(state, seen, plain_ask, NOW)
    assert picture(state, seen) == before
    assert decide_tick(state, seen, plain_ask, NOW) == decision


def picture(state: HostState, seen: Seen) -> Any:
    """All that is given, taken apart down to values that can be compared."""
    return taken_apart((state, seen, state.booked.jobs))


def taken_apart(value: Any) -> Any:
    if isinstance(value, (str, bytes, int, float, bool, type(None), Enum)):
        return value
    if isinstance(value, Mapping):
        return [(key, taken_apart(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple, deque)):
        return [taken_apart(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    return (type(value), taken_apart(vars(value)))


def _needs(random: Random) -> str | None:
    return random.choice([None, Needs(gpu_mem_mb=random.choice([4000, 20_000])).as_text(), Needs(cpus=2).as_text()])
