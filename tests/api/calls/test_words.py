"""Python calls as people read them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.call import each
from duckrow.api.calls.words import call_words
from duckrow.core.jobs.title import full_name, job_words, title_of, with_call, without_call


def train(*_: Any, **__: Any) -> None: ...


class Model:
    def __repr__(self) -> str:
        raise AssertionError("a foreign repr is never called")

    def fit(self) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {"lr": 0.1, "seed": 3}, "train(lr=0.1, seed=3)"),
        ((1, "a\nb", None, b"x", True), {}, "train(1, 'a\\nb', None, b'x', True)"),
        (([1, 2], (3,), {"a": 1}), {}, "train([1, 2], (3,), {'a': 1})"),
        ((list(range(1000)), Model(), Model), {}, "train(list of 1000, Model, Model)"),
        (([Model()], {"m": Model()}), {}, "train(list of 1, dict of 1)"),
        ((Path("data/x.csv"),), {}, "train('data/x.csv')"),
        (("x" * 100,), {}, "train('" + "x" * 37 + "'...)"),
        ((), {"api_key": "abc", "url": "https://me:pw@host/"}, "train(api_key='••••', url='••••')"),
        (tuple("x" * 30 for _ in range(9)), {}, "train(" + "'" + "', '".join(["x" * 30] * 4) + "', ...)"),
        ((), {}, "train()"),
    ],
)
def test_a_call_is_shown_in_one_line_with_big_things_as_their_type(args: Any, kwargs: Any, words: str) -> None:
    assert call_words(train, args, kwargs) == words


def test_of_other_callables_the_name_is_told() -> None:
    assert call_words(functools.partial(train, 1, lr=2), (3,), {"seed": 4}) == "train(1, 3, lr=2, seed=4)"
    assert call_words(lambda: None, (), {}) == "<lambda>()"
    assert call_words(Model.fit, (), {}) == "Model.fit()"
    assert call_words(each, (train, [(1,), (2,)]), {}) == "train(...), 2 calls"


def test_the_call_stands_behind_the_command_and_does_not_belong_to_it() -> None:
    runner = "exec /usr/bin/python -m duckrow.api.call /tmp/call-1"
    command = with_call(runner, "train('a # b')")
    assert (title_of(command), without_call(command)) == ("train('a # b')", runner)
    assert title_of(runner) == runner  # of an older duckrow
    assert title_of("python train.py # not a call") == "python train.py # not a call"


def test_a_job_of_an_array_is_named_with_its_index() -> None:
    assert (full_name("train", 3), full_name("train", None)) == ("train[3]", "train")
    assert (job_words(12, 3), job_words(12, None)) == ("job 12 (index 3)", "job 12")
