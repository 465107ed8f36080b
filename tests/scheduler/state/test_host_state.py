"""The moves of a host's state: with nothing else, no database, no process, no clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import duckrow
from duckrow.core.clock import Now
from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE, Seat
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Gone, Started
from duckrow.scheduler.state.host_state import HostState
from tests.core.language import attempt, cpus, gpus, job

OURS, ANOTHER = 7, 8
NOW = Now(1000.0, 500.0, 600.0)


def state_of(*some: LiveAttempt, seats: list[Seat] | None = None) -> HostState:
    state = HostState(OURS, gpus(2) if seats is None else seats)
    for each in some:
        state.start(each)
    return state


def of_job(job_id: int, device: str = "0", share: int = WHOLE, host: int = OURS, **fields: Any) -> LiveAttempt:
    return attempt(job(id=job_id, **fields), holds=((device, share),), job_host_id=host)


# -- who may change it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["state.freed = True", "attempt.stop = None", "state.early.owed = {}", "live[1_000_001].holds = ()"]
)
def test_a_module_that_writes_past_the_moves_is_told_in_every_test_of_the_scheduler(written: str) -> None:
    """`tests/scheduler/conftest.py` sees to it."""
    attempt = of_job(1)
    state = state_of(attempt)
    writer = str(Path(duckrow.__file__).parent / "scheduler" / "life" / "endings.py")
    with pytest.raises(AssertionError, match="past the moves"):
        exec(compile(written, writer, "exec"), {"state": state, "attempt": attempt, "live": state.live})


# -- what is booked -------------------------------------------------------------------------------------------------


def test_what_starts_holds_its_devices_until_it_is_released() -> None:
    first = of_job(1, "0")
    state = state_of(first, of_job(2, "1"))
    assert state.booked == {"0": WHOLE, "1": WHOLE}
    state.release(first)
    assert state.booked == {"0": 0, "1": WHOLE}
    assert list(state.live.values()) == state.running
    assert [each.job.id for each in state.running] == [2]


def test_everything_is_booked_again_as_it_is_held() -> None:
    state = state_of(of_job(1, "0", WHOLE // 2))
    state.watch([of_job(2, "1", host=ANOTHER), of_job(3, "cpu0", host=ANOTHER)])
    state.rebook([reservations([("0", WHOLE // 4), ("cpu5", WHOLE)])])
    assert state.booked == {"0": WHOLE // 2 + WHOLE // 4, "1": WHOLE}, "CPU slots are each host's own"
    assert state.booked.jobs == {"0": 2, "1": 1}


def test_one_that_holds_less_makes_room_for_others() -> None:
    shrinks = of_job(1, "0")
    state = state_of(shrinks)
    state.queue.was_read([], frozenset())
    state.rehold(shrinks, reservations([("0", WHOLE // 4)]))
    assert state.booked == {"0": WHOLE // 4}
    assert shrinks.holds == (("0", WHOLE // 4),)
    assert state.queue.stale
    assert state.take_freed()
    assert not state.take_freed(), "others hear of it once"


def test_others_hear_of_what_they_could_use() -> None:
    for ended, they_gain in (
        (of_job(1, "0"), True),
        (of_job(1, "cpu0"), False),
        (of_job(1, "cpu0", host=ANOTHER), True),
        (of_job(1, "cpu0", needs='{"mem_mb": 5}'), True),
    ):
        state = state_of(ended)
        state.release(ended)
        assert state.take_freed() is they_gain, ended


# -- lines ----------------------------------------------------------------------------------------------------------


def test_who_waits_in_a_line_holds_nothing_until_the_one_before_is_gone() -> None:
    first, second, third = of_job(1), of_job(2), of_job(3)
    state = state_of(first)
    state.line_up(second, behind=first.id)
    state.line_up(third, behind=second.id)
    assert state.booked == {"0": WHOLE}
    assert state.running == [first]
    state.release(first)
    assert state.booked == {"0": WHOLE}
    assert state.running == [second]
    assert not state.freed, "its place is taken"
    assert third.follows == second.id


def test_who_stands_back_from_a_line_leaves_nothing_booked() -> None:
    first, second = of_job(1), of_job(2)
    state = state_of(first)
    state.line_up(second, behind=first.id)
    state.drop(second)
    state.release(first)
    assert state.booked == {"0": 0}
    assert not state.live
    assert not state.lined_up


# -- devices --------------------------------------------------------------------------------------------------------


def test_no_job_gets_a_device_that_is_drained_or_set_aside() -> None:
    state = state_of(seats=gpus(4))
    assert state.usable(state.seats) is state.seats
    state.drain(frozenset({"1"}))
    state.set_gpu_aside(SetAside("3", "it fell off the bus", "boot"))
    assert [seat.devices for seat in state.usable(state.seats)] == [("0",), ("2",)]
    assert [seat.devices for seat in state.not_set_aside(state.seats)] == [("0",), ("1",), ("2",)]
    assert state.any_out_of_use
    state.give_gpu_out("3")
    state.drain(frozenset())
    assert not state.any_out_of_use


def test_devices_come_and_go_while_the_host_runs() -> None:
    state = state_of(seats=gpus(2))
    before = state.seats
    state.add_seat(Seat(reservations([("5", WHOLE)])))
    assert state.offers("5")
    state.remove_device("0")
    assert [seat.devices for seat in state.seats] == [("5",), ("1",)]
    assert state.seats is not before, "who remembers them sees that they are others"


def test_the_seat_that_was_freed_last_comes_first_where_that_is_wanted() -> None:
    state = state_of(seats=cpus(3))
    state.take_last_freed_first()
    assert [seat.devices[0] for seat in state.seats] == ["cpu2", "cpu1", "cpu0"]
    one = of_job(1, "cpu0")
    state.start(one)
    state.release(one)
    assert state.seats[0].devices == ("cpu0",)


# -- a tick ---------------------------------------------------------------------------------------------------------


def test_a_tick_begins_with_what_has_come_and_settles_it() -> None:
    state = state_of()
    state.note_end(of_job(1), Verdict(Outcome.FAILED, again=False), 1.0)
    state.note_back(4)
    state.note([Gone(1_000_001), Started(2_000_001, 42, "42:1")])
    state.take_in(JobSpec("true", "/"))
    state.end_all(at_once=True)
    assert state.stop_all == 2
    assert state.begin_tick(NOW, changed_by_others=False), "a new host looks at everything"
    assert not state.begin_tick(NOW, changed_by_others=False)
    assert state.begin_tick(NOW, changed_by_others=True)
    assert (state.ends, state.came_back, state.ticked_mono) == ([], [], 500.0)
    assert state.pending() == {1_000_001, 2_000_001}
    assert state.inbox
    state.settle()
    state.queue.was_read([], frozenset())
    assert (state.reports, state.inbox, state.stop_all) == ([], [], 0)
    assert not state.is_unsettled


def is_due(state: HostState) -> bool:
    return state.is_due


def test_a_tick_is_due_when_it_has_something_to_do() -> None:
    state = state_of(of_job(1))
    state.begin_tick(NOW, changed_by_others=False)
    state.queue.was_read([job(id=9)], frozenset())
    assert not is_due(state)
    state.look_again()
    assert is_due(state)
    state.dispatch(False)
    assert not is_due(state), "who starts nothing need not look who could start"
    state.line_up(of_job(2), behind=1_000_001)
    assert is_due(state), "they must stand back"
    state.dispatch(True)
    state.queue.was_read([], frozenset())
    assert not is_due(state)
    state.wake()
    assert is_due(state)


def test_a_job_that_was_in_the_way_is_shunned_and_keeps_its_devices() -> None:
    state = state_of(of_job(1, "0"), of_job(2, "1"))
    state.note([Gone(1_000_001), Gone(2_000_001)])
    state.shun(1)
    assert state.pending() == {2_000_001}
    assert state.shunned == {1}
    assert state.booked == {"0": WHOLE, "1": WHOLE}


def test_the_jobs_of_a_host_that_died_are_not_our_own() -> None:
    state = state_of(of_job(1, host=ANOTHER))
    assert not state.runs_own
    state.start(of_job(2, "1"))
    assert state.runs_own
