"""The table of states: what it has is allowed, all else raises."""

from __future__ import annotations

from itertools import product

import pytest

from duckrow.core.errors import DuckrowError, IllegalTransition
from duckrow.core.life.states import LIVE, TRANSITIONS, Outcome, State, check_transition, outcome_of

ALL_MOVES = list(product(State, State))


@pytest.mark.parametrize(("before", "after"), [move for move in ALL_MOVES if move in TRANSITIONS])
def test_a_move_of_the_table_is_allowed(before: State, after: State) -> None:
    check_transition(7, before, after)
    assert TRANSITIONS[before, after]


@pytest.mark.parametrize(("before", "after"), [move for move in ALL_MOVES if move not in TRANSITIONS])
def test_any_other_move_raises_with_the_job_s_story(before: State, after: State) -> None:
    with pytest.raises(IllegalTransition) as caught:
        check_transition(7, before, after, ["queued to starting", "starting to running"])
    assert str(caught.value) == (
        f"Job 7 cannot move from {before} to {after}. Its history: queued to starting, starting to running."
    )
    assert isinstance(caught.value, DuckrowError)


def test_a_job_without_a_story_says_so() -> None:
    with pytest.raises(IllegalTransition, match="Its history: nothing recorded"):
        check_transition(7, State.QUEUED, State.RUNNING)


def test_nothing_runs_without_a_recorded_start() -> None:
    assert [before for before, after in TRANSITIONS if after is State.RUNNING] == [State.STARTING]
    assert [before for before, after in TRANSITIONS if after is State.STARTING] == [State.QUEUED]


def test_every_state_can_be_reached_and_left() -> None:
    assert {after for _, after in TRANSITIONS} == set(State)
    assert {before for before, _ in TRANSITIONS} == set(State)


def test_a_job_holds_devices_from_its_start_to_its_end() -> None:
    assert set(LIVE) == set(State) - {State.QUEUED, State.DONE}


def test_states_and_outcomes_are_written_as_words() -> None:
    assert f"{State.QUEUED} {Outcome.OUT_OF_MEMORY}" == "queued out-of-memory"
    assert str(Outcome.TIMED_OUT) == "timed-out"


@pytest.mark.parametrize(
    ("exit_code", "signal", "stopped_for", "outcome"),
    [
        (0, None, None, Outcome.SUCCEEDED),
        (1, None, None, Outcome.FAILED),
        (137, None, None, Outcome.FAILED),
        (None, 11, None, Outcome.FAILED),
        (None, 6, None, Outcome.FAILED),
        (None, 9, None, Outcome.KILLED),
        (None, 15, None, Outcome.KILLED),
        (None, 2, None, Outcome.KILLED),
        (0, None, Outcome.TIMED_OUT, Outcome.SUCCEEDED),
        (1, None, Outcome.TIMED_OUT, Outcome.TIMED_OUT),
        (None, 9, Outcome.TIMED_OUT, Outcome.TIMED_OUT),
        (0, None, Outcome.KILLED, Outcome.KILLED),
        (None, 15, Outcome.KILLED, Outcome.KILLED),
        (3, None, Outcome.KILLED, Outcome.KILLED),
        (None, None, None, Outcome.FAILED),
    ],
)
def test_the_outcome_follows_from_what_the_kernel_said_and_why_we_stopped_it(
    exit_code: int | None, signal: int | None, stopped_for: Outcome | None, outcome: Outcome
) -> None:
    assert outcome_of(exit_code, signal, stopped_for) is outcome
