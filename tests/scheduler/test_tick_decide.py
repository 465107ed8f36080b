"""What a tick decides: the same of the same state, and the state stays as it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.life.states import Outcome
from duckrow.core.memory.parameters import text_of
from duckrow.core.schedule.decide import CORES, MEMORY, AskOf, Decision, plain_ask
from duckrow.core.schedule.run_times import RunTimes
from duckrow.scheduler import loop
from duckrow.scheduler.life.learned_times import order_matters
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.decide import decide_tick
from duckrow.scheduler.tick.seen import Seen
from tests.core.language import attempt, cpus, gpus, job
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import gpus as packed_gpus
from tests.scheduler.language import slots, succeeds

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


@pytest.mark.no_cover  # hundreds of ticks
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


def test_the_order_of_a_batch_is_decided_and_what_is_remembered_of_it_is_recorded() -> None:
    state = HostState(1, cpus(1))
    state.start(attempt(job(id=1), holds=[("cpu0", WHOLE)]))
    batch = [job(id=number, gpus=0, command=f"sleep {number}") for number in (2, 3, 4, 5)]
    state.queue.was_read(batch, frozenset())
    times = RunTimes()
    for each in batch:
        times.note(each, 1000.0 if each.id == 5 else 10.0)
    assert order_matters(state, batch, state.seats)
    seen = Seen(batch, state.seats, BARE, {}, times)
    before = picture(state, seen)
    decision = decide_tick(state, seen, plain_ask, NOW)
    assert picture(state, seen) == before
    assert state.plans == ()
    assert decision.plans is not None
    assert [plan.jobs for plan in decision.plans] == [{2, 3, 4, 5}]
    state.keep_plans(decision.plans)
    assert decide_tick(state, seen, plain_ask, NOW).plans == decision.plans


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[Decision]:
    """Every decision of the loop: each is made twice, and everything that was given is compared."""
    made: list[Decision] = []

    def decide_twice(state: HostState, seen: Seen, ask_of: AskOf, now: Now) -> Decision:
        before = picture(state, seen)
        decision = decide_tick(state, seen, ask_of, now)
        assert picture(state, seen) == before
        assert decide_tick(state, seen, ask_of, now) == decision
        made.append(decision)
        return decision

    monkeypatch.setattr(loop, "decide_tick", decide_twice)
    return made


@pytest.mark.no_cover  # hundreds of ticks
def test_an_early_start_is_decided_without_a_change(make_queue: MakeQueue, decisions: list[Decision]) -> None:
    queue = make_queue(*packed_gpus("24G"))
    late = succeeds(after_s=40, gpu_mb=((0.0, 1000), (24.0, 15_000)))
    of_seed = [Needs(auto=True, recipe="/train.py", parameters=text_of({"seed": str(seed)})) for seed in range(2)]
    for needs in of_seed:
        queue.add(late, gpus=1, needs=needs)
        queue.passes(44)
    for needs in of_seed:
        queue.add(late, gpus=1, needs=needs)
    queue.passes(44)
    owed = [start.owed for decision in decisions for start in decision.starts]
    assert len([each for each in owed if each is not None]) == 1


def test_the_order_of_a_batch_is_decided_without_a_change(make_queue: MakeQueue, decisions: list[Decision]) -> None:
    queue = make_queue(slots(2))
    for _ in range(2):
        for seconds in (30, 20, 40, 10, 500):
            queue.add(succeeds(after_s=seconds), command=f"python train.py --steps {seconds}")
        queue.passes(700)
    assert any(decision.plans for decision in decisions)


@pytest.mark.no_cover  # hundreds of ticks
def test_how_many_are_tried_at_a_time_is_decided_without_a_change(
    make_queue: MakeQueue, decisions: list[Decision]
) -> None:
    queue = make_queue(*packed_gpus("24G"), cpus=4)
    needs = Needs(auto=True, recipe="/train.py")
    queue.add(succeeds(after_s=20, gpu_mb=((0.0, 1000),)), gpus=1, needs=needs)
    queue.passes(25)
    for _ in range(20):
        queue.add(succeeds(after_s=20, gpu_mb=((0.0, 1000),)), gpus=1, needs=needs)
    queue.passes(30)
    assert max(len(decision.starts) for decision in decisions) > 1


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
    if callable(value):
        return value
    worked_out = _WORKED_OUT.get(type(value), ())
    return (type(value), taken_apart({name: each for name, each in vars(value).items() if name not in worked_out}))


_WORKED_OUT: Mapping[type, Sequence[str]] = {
    RunTimes: ("_models", "_recipes")
}  # what follows from the rest, when asked


def _needs(random: Random) -> str | None:
    return random.choice([None, Needs(gpu_mem_mb=random.choice([4000, 20_000])).as_text(), Needs(cpus=2).as_text()])
