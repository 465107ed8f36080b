"""The file in a task's folder that says who has succeeded there."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.dropin.gpu_task_scheduler.success_notes import (
    SOMEBODY,
    SUCCESS,
    add_success,
    forget_success,
    note_of,
    successes_in,
)


def test_each_script_has_its_own_note_and_takes_away_no_other(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert successes_in(folder) == {}
    add_success(folder, "train.Task", note_of({"x": 1}))
    add_success(folder, "evaluate.Task", note_of({"x": 1, "runs": 5}))
    forget_success(folder, "evaluate.Task")
    forget_success(folder, "evaluate.Task")
    assert successes_in(folder) == {"train.Task": {"x": "1"}}
    add_success(folder, "train.Task", note_of({"x": "1"}))
    assert successes_in(folder) == {"train.Task": {"x": "'1'"}}
    forget_success(folder, "train.Task")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{}", "not JSON", "[1]", '{"x": "1"}'])
def test_a_note_that_does_not_say_whose_it_is_stays_until_its_owner_is_known(tmp_path: Path, text: str) -> None:
    (tmp_path / SUCCESS).write_text(text)
    assert successes_in(str(tmp_path)) == {SOMEBODY: {}}
    forget_success(str(tmp_path), "evaluate.Task")
    assert (tmp_path / SUCCESS).read_text() == text


def test_where_an_object_lies_in_memory_tells_nothing() -> None:
    assert note_of({"x": object()}) == note_of({"x": object()}) == {"x": "<object object>"}
