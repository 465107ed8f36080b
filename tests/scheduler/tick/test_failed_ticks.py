"""A tick that could not be written: what is told, what is set aside, and when it is tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from duckrow.core.errors import IllegalTransition, StateError
from duckrow.core.ports import Observer
from duckrow.scheduler.life.wishes import WrongWish
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.failed_ticks import FailedTicks
from duckrow.store.life.wishes import UnfulfilledWish


class Around(Observer):
    """What a host would hear, read again, forget and wait for."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.read_again = 0
        self.forgotten: list[int] = []
        self.timers: list[Callable[[], None]] = []
        self.is_broken = False  # the database cannot be read

    def trouble(self, sentence: str) -> None:
        self.said.append(sentence)

    def trouble_over(self) -> None:
        self.said.append("over")

    def forget_unwritten(self) -> None:
        if self.is_broken:
            raise StateError("The database cannot be read.")
        self.read_again += 1

    def forget(self, wish_id: int) -> None:
        self.forgotten.append(wish_id)

    def later(self, _: float, call: Callable[[], None]) -> None:
        self.timers.append(call)


@pytest.fixture
def around() -> Around:
    return Around()


@pytest.fixture
def state() -> HostState:
    return HostState(1, [])


@pytest.fixture
def failed(state: HostState, around: Around) -> FailedTicks:
    anything = cast(Any, around)
    return FailedTicks(state, anything, around, anything, anything)


def test_a_full_disk_is_told_once_and_waited_for(failed: FailedTicks, around: Around, state: HostState) -> None:
    for _ in range(2):
        failed.survive(StateError("The disk is full."))
        assert state.failures.is_waited_for
        around.timers.pop()()
        assert not state.failures.is_waited_for
    failed.over()
    failed.over()
    assert around.said == ["The disk is full.", "over"]
    assert around.read_again == 2


def test_it_is_waited_for_until_the_database_can_be_read(failed: FailedTicks, around: Around, state: HostState) -> None:
    failed.survive(StateError("The disk is full."))
    around.is_broken = True
    around.timers.pop()()
    assert state.failures.is_waited_for
    around.is_broken = False
    around.timers.pop()()
    assert not state.failures.is_waited_for


def test_a_wrong_wish_on_a_database_that_cannot_be_read_is_waited_for(
    failed: FailedTicks, around: Around, state: HostState
) -> None:
    around.is_broken = True
    failed.survive(WrongWish(UnfulfilledWish(3, 12, "signal:x", 1), ValueError("no number")))
    assert state.failures.is_waited_for
    assert around.said[-1] == "The database cannot be read."


def test_a_wrong_wish_is_forgotten_with_a_sentence(failed: FailedTicks, around: Around, state: HostState) -> None:
    failed.survive(WrongWish(UnfulfilledWish(3, 12, "signal:x", 1), ValueError("no number")))
    assert around.said == ["The wish 'signal:x' for job 12 is set aside: no number"]
    assert around.forgotten == [3]
    assert around.read_again == 1
    assert not state.failures.is_waited_for


def test_an_illegal_move_is_first_taken_for_a_mistake_of_ours(
    failed: FailedTicks, around: Around, state: HostState
) -> None:
    failed.survive(IllegalTransition(5, "Job 5 was not queued."))
    assert (around.said, around.read_again, state.shunned) == ([], 1, frozenset())
    failed.survive(IllegalTransition(6, "Job 6 was not queued."))
    assert (around.said, around.read_again, state.shunned) == ([], 2, frozenset())


def test_a_job_that_is_in_the_way_again_is_set_aside(failed: FailedTicks, around: Around, state: HostState) -> None:
    for _ in range(2):
        failed.survive(IllegalTransition(5, "Job 5 was not queued."))
    assert state.shunned == {5}
    assert around.said == ["Job 5 is set aside: Job 5 was not queued. The others continue."]
    assert not state.failures.is_waited_for
    failed.survive(IllegalTransition(5, "Job 5 was not queued."))
    assert state.failures.is_waited_for, "that did not help: the host must not spin"


def test_whatever_fails_all_is_looked_at_again(failed: FailedTicks, state: HostState) -> None:
    state.woken = False
    failed.survive(StateError("The disk is full."))
    assert state.woken
