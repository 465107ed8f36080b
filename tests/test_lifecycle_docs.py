"""The architecture page draws the life of a job: just the moves of the table, and every state and outcome."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from duckrow.core.lifecycle import TRANSITIONS, Outcome, State

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
_STATE = rf"`?({'|'.join(State)})`?"
# A line of a diagram (`queued --> starting: why`), of prose (queued → starting) or of a table (| queued | starting |).
_MOVE = re.compile(rf"{_STATE}\s*(?:-+>|→|\|)\s*{_STATE}(?![\w-])")


def drawn_moves(page: str) -> set[tuple[State, State]]:
    return {(State(before), State(after)) for before, after in _MOVE.findall(page)}


def difference(page: str) -> str:
    """What the page has too much or too little of, in words; empty if it is right."""
    drawn = drawn_moves(page)
    missing = [f"{before} -> {after} is not drawn" for before, after in TRANSITIONS if (before, after) not in drawn]
    invented = [
        f"{before} -> {after} is not in the table" for before, after in drawn if (before, after) not in TRANSITIONS
    ]
    unsaid = [f"{word} is not explained" for word in (*State, *Outcome) if not re.search(rf"\b{word}\b", page)]
    return ", ".join([*missing, *invented, *unsaid])


def test_the_architecture_page_draws_the_table_of_transitions() -> None:
    if not PAGE.exists():
        pytest.skip(f"{PAGE} is not written yet")
    assert not difference(PAGE.read_text())


def page_of(moves: list[tuple[State, State]], pattern: str) -> str:
    return "\n".join([pattern.format(before, after) for before, after in moves] + [str(outcome) for outcome in Outcome])


@pytest.mark.parametrize("pattern", ["    {} --> {}: because", "{} -> {}", "`{}` → `{}`", "| {} | {} | because |"])
def test_a_page_that_draws_every_move_is_right(pattern: str) -> None:
    assert difference(page_of(list(TRANSITIONS), pattern)) == ""


def test_a_page_that_forgets_or_invents_a_move_is_noticed() -> None:
    moves = [move for move in TRANSITIONS if move != (State.DONE, State.QUEUED)]
    page = page_of([*moves, (State.QUEUED, State.RUNNING)], "{} --> {}")
    assert difference(page) == "done -> queued is not drawn, queued -> running is not in the table"


def test_a_page_that_does_not_name_an_outcome_is_noticed() -> None:
    page = page_of(list(TRANSITIONS), "{} --> {}").replace("out-of-memory", "")
    assert difference(page) == "out-of-memory is not explained"
