"""How people name jobs."""

from __future__ import annotations

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.jobs.selection import Selection, parse_selection


@pytest.mark.parametrize(
    ("words", "selection"),
    [
        ([], Selection((), (), False)),
        (["12"], Selection(((12, 12),), (), False)),
        (["10-12"], Selection(((10, 12),), (), False)),
        (["10-12,15", "3"], Selection(((10, 12), (15, 15), (3, 3)), (), False)),
        (["train"], Selection((), ("train",), False)),
        (["train,eval", "7"], Selection(((7, 7),), ("train", "eval"), False)),
        (["last"], Selection((), (), True)),
        (["last", "4-4"], Selection(((4, 4),), (), True)),
        (["lr-1"], Selection((), ("lr-1",), False)),
        (["1-b"], Selection((), ("1-b",), False)),
        (["5,,6,"], Selection(((5, 5), (6, 6)), (), False)),
        (["9" * 19], Selection((), ("9" * 19,), False)),
    ],
)
def test_jobs_are_named_by_id_range_name_and_last(words: list[str], selection: Selection) -> None:
    assert parse_selection(words) == selection


def test_a_range_that_runs_backwards_is_refused_with_the_right_one() -> None:
    with pytest.raises(UsageError, match=r"The range 12-10 is in the wrong order\. Write 10-12\."):
        parse_selection(["3", "12-10"])
