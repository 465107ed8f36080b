"""What a tick decides: the same of the same state, and the state stays as it was."""

from __future__ import annotations

import copy

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import BARE
from duckrow.core.schedule.decide import plain_ask
from duckrow.scheduler.state import HostState
from duckrow.scheduler.tick.decide import decide_tick
from duckrow.scheduler.tick.seen import Seen
from tests.core.language import attempt, gpus, job

NOW = Now(5000.0, 2000.0, 2000.0)


def test_a_decision_changes_nothing_and_is_the_same_each_time() -> None:
    state = HostState(1, gpus(3))
    late = attempt(job(id=1, timeout_s=10.0), started_mono=1000.0)
    state.start(late)
    queue = [job(id=2, project="a"), job(id=3, project="a"), job(id=4)]
    seen = Seen(queue, state.usable(state.seats), BARE, {"project:a": 1})
    before = copy.deepcopy(vars(state))
    decision = decide_tick(state, seen, plain_ask, NOW)
    assert [start.job.id for start in decision.starts] == [2, 4]
    assert [stop.attempt for stop in decision.stops] == [late]
    assert decide_tick(state, seen, plain_ask, NOW) == decision
    after = vars(state)
    same = ("booked", "live", "lined_up", "seats", "wake_mono", "freed", "reports")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert state.booked == {"0": WHOLE}
    assert seen.room == {"project:a": 1}
