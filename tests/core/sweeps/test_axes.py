"""The values of a parameter: how they are written on the command line, in files and in Python."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.axes import MOST, Axis, Choices, Integers, LogUniform, Uniform, parse_axis, read_grid


def values(*words: str) -> tuple[Any, ...]:
    axis = parse_axis("x", words)
    assert isinstance(axis, Choices)
    return axis.values


def complaint(*words: str) -> str:
    with pytest.raises(UsageError) as raised:
        parse_axis("x", words)
    return str(raised.value)


def test_choices_stay_as_they_were_typed() -> None:
    assert values("0.10", "1e-3", "007", "a b", "", "-1") == ("0.10", "1e-3", "007", "a b", "", "-1")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["0..9"], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (["0..3", "42"], [0, 1, 2, 3, "42"]),
        (["0..10..2"], [0, 2, 4, 6, 8, 10]),
        (["0..9..4"], [0, 4, 8]),
        (["5..0"], [5, 4, 3, 2, 1, 0]),
        (["5..0..2"], [5, 3, 1]),
        (["5..0..-2"], [5, 3, 1]),
        (["0..4..-2"], [0, 2, 4]),
        (["7..7"], [7]),
        (["-2..+2"], [-2, -1, 0, 1, 2]),
        (["0..1..0.25"], [0.0, 0.25, 0.5, 0.75, 1.0]),
        (["1..0..0.5"], [1.0, 0.5, 0.0]),
        (["0..1..0.1"], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ([".5..1..0.3"], [0.5, 0.8]),
        (["1e-3..3e-3..1e-3"], [0.001, 0.002, 0.003]),
        (["1e3..3e3..1e3"], [1000.0, 2000.0, 3000.0]),
    ],
)
def test_a_range_counts_both_ends(words: list[str], expected: list[Any]) -> None:
    assert values(*words) == tuple(expected)
    assert list(map(type, values(*words))) == list(map(type, expected))


@given(st.integers(-999, 999), st.integers(1, 99), st.integers(0, 300))
def test_a_range_of_fractions_has_no_rounding_dirt(first: int, step: int, steps: int) -> None:
    word = f"{first / 100}..{(first + step * steps) / 100}..{step / 100}"
    assert values(word) == tuple((first + step * number) / 100 for number in range(steps + 1))


@pytest.mark.parametrize(
    "text", ["../data", "a..b", "..", "0..", "..9", "0..a", "0..9..", "1.2.3", "0..9..1..1", "0-9", "log:file", "int:"]
)
def test_what_only_looks_like_a_range_is_text(text: str) -> None:
    assert values(text) == (text,)


@pytest.mark.parametrize(
    ("word", "axis"),
    [
        ("log:1e-5..1e-1", LogUniform(1e-5, 1e-1)),
        ("uniform:0..1", Uniform(0.0, 1.0)),
        ("uniform:-.5..2", Uniform(-0.5, 2.0)),
        ("int:1..100", Integers(1, 100)),
        ("int:-3..-3", Integers(-3, -3)),
    ],
)
def test_a_distribution_has_a_kind_and_two_ends(word: str, axis: Axis) -> None:
    assert parse_axis("x", [word]) == axis
    assert type(parse_axis("x", [word])) is type(axis)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "The parameter x has no value. Give it one or more, as in -p x 0.1 0.01."),
        (["0..9..0"], "The parameter x: 0..9..0 has a step of 0. Write a larger one, as in 0..9..3."),
        (
            ["0..0.5"],
            "The parameter x: 0..0.5 needs a step, as in 0..1..0.1. To draw from it, write uniform:0..0.5.",
        ),
        (
            ["0..1000000"],
            "The parameter x: 0..1000000 is more than 1,000,000 values. Take a larger step, or draw from it with"
            " int:0..1000000.",
        ),
        (
            ["0..1..1e-300"],
            "The parameter x: 0..1..1e-300 is more than 1,000,000 values. Take a larger step, or draw from it with"
            " uniform:0..1.",
        ),
        (
            ["0..9e999..9e999"],
            "The parameter x: 0..9e999..9e999 contains a number that is too large. Write smaller ones.",
        ),
        (["log:0..1"], "The parameter x: log:0..1 must begin above 0, as in log:1e-5..1e-1."),
        (["log:-1..1"], "The parameter x: log:-1..1 must begin above 0, as in log:1e-5..1e-1."),
        (["uniform:1..0"], "The parameter x: uniform:1..0 is in the wrong order. Write the smaller number first."),
        (["int:3..2"], "The parameter x: int:3..2 is in the wrong order. Write the smaller number first."),
        (["int:0.5..3"], "The parameter x: int:0.5..3 needs whole numbers, as in int:1..100."),
        (["int:0..1e3"], "The parameter x: int:0..1e3 needs whole numbers, as in int:1..100."),
        (["log:1e-5"], "The parameter x: log:1e-5 is not a distribution. Write it as log:1e-5..1e-1."),
        (["log:1..2..3"], "The parameter x: log:1..2..3 is not a distribution. Write it as log:1e-5..1e-1."),
        (["uniform:0,1"], "The parameter x: uniform:0,1 is not a distribution. Write it as uniform:0..1."),
        (
            ["uniform:0..1e999"],
            "The parameter x: uniform:0..1e999 has a bound that is not a number. Write it as uniform:0..1.",
        ),
        (["1", "int:1..2"], "The parameter x: int:1..2 cannot be mixed with other values. Use it alone."),
    ],
)
def test_what_cannot_be_meant_is_told(words: list[str], sentence: str) -> None:
    assert complaint(*words) == sentence


def test_the_longest_range_is_a_million() -> None:
    assert len(values(f"1..{MOST}")) == MOST
    assert "more than 1,000,000 values" in complaint(f"1..{MOST}", "0")


def test_what_can_be_counted_through_is_choices_and_a_scalar_is_one() -> None:
    grid = read_grid(
        {
            "list": [0.1, "1e-3", None],
            "tuple": (1, 2),
            "range": range(3),
            "generator": (number * number for number in range(3)),
            "set": set("hgfedcba"),
            "number": 7,
            "flag": False,
            "text": "adam",
            "dict": {"a": 1},
            "inner": [[1, 2], [3]],
        }
    )
    assert {name: axis.values for name, axis in grid.items() if isinstance(axis, Choices)} == {
        "list": (0.1, "1e-3", None),
        "tuple": (1, 2),
        "range": (0, 1, 2),
        "generator": (0, 1, 4),
        "set": tuple("abcdefgh"),
        "number": (7,),
        "flag": (False,),
        "text": ("adam",),
        "dict": ({"a": 1},),
        "inner": ([1, 2], [3]),
    }


def test_texts_in_a_file_are_read_as_on_the_command_line() -> None:
    assert read_grid({"seed": "0..2", "more": ["0..2", 7], "lr": "log:1e-5..1e-1", "n": ["int:1..9"]}) == {
        "seed": Choices((0, 1, 2)),
        "more": Choices((0, 1, 2, 7)),
        "lr": LogUniform(1e-5, 1e-1),
        "n": Integers(1, 9),
    }


def test_an_axis_that_was_made_in_python_is_taken_as_it_is() -> None:
    axes = {"text": Choices(("0..9",)), "x": Uniform(0, 1), "lr": LogUniform(1, 2), "n": Integers(1, 2)}
    assert read_grid(axes) == axes
    assert list(map(type, read_grid(axes).values())) == [Choices, Uniform, LogUniform, Integers]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "has no value"),
        (Choices(()), "has no value"),
        pytest.param(count(), "more than 1,000,000 values", marks=pytest.mark.no_cover),
        pytest.param(range(10**30), "more than 1,000,000 values", marks=pytest.mark.no_cover),
        (LogUniform(0, 1), "must begin above 0"),
        (Uniform(0, float("nan")), "a bound that is not a number"),
        (Integers(0.5, 3), "needs whole numbers"),  # type: ignore[arg-type]
        (["uniform:0..1", 2], "cannot be mixed with other values"),
    ],
)
def test_what_cannot_be_meant_in_python_is_told(value: Any, said: str) -> None:
    with pytest.raises(UsageError, match="The parameter x") as raised:
        read_grid({"x": value})
    assert said in str(raised.value)


class NumpyFloat32(float):
    """As numpy's: it prints shorter than the number of Python that it is."""

    dtype = "float32"

    def __str__(self) -> str:
        return "0.1"


def test_a_number_of_numpy_becomes_the_number_that_it_prints() -> None:
    assert read_grid({"x": [NumpyFloat32(0.10000000149)], "y": NumpyFloat32(0.10000000149)}) == {
        "x": Choices((0.1,)),
        "y": Choices((0.1,)),
    }
