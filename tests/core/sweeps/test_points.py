"""Points: their texts, their keys, and the numbers in a text."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.sweeps.points import key_of, plain_value, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1e-3", "1e-3"),
        (0.1, "0.1"),
        (1e-05, "1e-05"),
        (3, "3"),
        (True, "True"),
        (None, "None"),
        (PurePath("/data"), "/data"),
        ([1, "a b", None], '[1,"a b",null]'),
        ((1, 2), "[1,2]"),
        ({"b": 1, "ä": [True]}, '{"b":1,"ä":[true]}'),
        ([PurePath("/data")], '["/data"]'),
    ],
)
def test_scalars_are_printed_and_lists_and_dicts_are_json(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_the_key_does_not_depend_on_the_order_of_the_parameters_or_on_their_types() -> None:
    assert key_of({"lr": 0.1, "seed": "3"}) == key_of({"seed": 3, "lr": "0.1"}) == '{"lr":"0.1","seed":"3"}'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": "1"}, {"x": "1.0"}),
        ({"x": "1"}, {"y": "1"}),
        ({"x": ""}, {}),
        ({"x": 'a","y":"b'}, {"x": "a", "y": "b"}),
        ({"x": "ä"}, {"x": "\\u00e4"}),
    ],
)
def test_different_points_have_different_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert key_of(one) != key_of(other)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.1", 0.1),
        ("3", 3),
        ("-3", -3),
        ("1e-3", 0.001),
        ("1E5", 1e5),
        (".5", 0.5),
        ("2.", 2.0),
        ("0", 0),
        ("-0.5", -0.5),
    ],
)
def test_a_text_that_is_written_as_a_number_is_that_number(text: str, number: float) -> None:
    assert plain_value(text) == number
    assert type(plain_value(text)) is type(number)


@pytest.mark.parametrize(
    "text", ["007", "00.5", "true", "nan", "inf", "1e999", "1_000", " 3", "3 ", "", ".", "e5", "0x1f", "٣", "9" * 5000]
)
def test_all_other_texts_stay_as_they_are(text: str) -> None:
    assert plain_value(text) is text


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_from_its_text(number: float) -> None:
    assert plain_value(text_of(number)) == number
