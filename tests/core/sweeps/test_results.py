"""Rows of results: cells, columns, order, the best, filters, failures."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.conditions import parse_condition
from duckrow.core.sweeps.results import (
    Row,
    best_rows,
    cell_text,
    failure_groups,
    json_ready,
    name_columns,
    number_of,
    short_text,
    sorted_rows,
    varying,
)

NAN, INF = math.nan, math.inf


def rows_of(*values: Any) -> list[Row]:
    return [{"id": number, "x": value} for number, value in enumerate(values)]


def ids(rows: list[Row]) -> list[int]:
    return [row["id"] for row in rows]


# -- cells ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3), (0.5, 0.5), ("3", 3), ("-1e-3", -0.001), (".5", 0.5), ("1.", 1.0), ("+7", 7), ("inf", INF),
        ("", None), ("a", None), ("1_000", None), ("0x10", None), ("1 2", None), (" 1", None), (True, None),
        (None, None), ([1], None), ("1" * 301, None), (10**400, None),
    ],
)  # fmt: skip
def test_what_is_a_number(value: Any, number: float | None) -> None:
    assert number_of(value) == number
    assert type(number_of(value)) is type(number)


@pytest.mark.parametrize(
    ("value", "text", "short"),
    [
        (None, "", ""),
        ("a b", "a b", "a b"),
        (True, "true", "true"),
        (12345678, "12345678", "12345678"),
        (0.30000001192092896, "0.30000001192092896", "0.3"),
        (1e-05, "1e-05", "1e-05"),
        (NAN, "NaN", "NaN"),
        (-INF, "-Infinity", "-Infinity"),
        ([64, "a"], '[64, "a"]', '[64, "a"]'),
    ],
)
def test_a_cell_is_whole_as_text_and_short_for_people(value: Any, text: str, short: str) -> None:
    assert (cell_text(value), short_text(value)) == (text, short)


def test_json_gets_names_for_what_is_no_number_there() -> None:
    ready = json_ready({"a": NAN, "b": [INF, 1.5], "c": {"d": -INF}, "e": None})
    assert ready == {"a": "NaN", "b": ["Infinity", 1.5], "c": {"d": "-Infinity"}, "e": None}
    json.dumps(ready, allow_nan=False)


# -- columns --------------------------------------------------------------------------------------------------------


def test_a_name_that_is_taken_gets_a_prefix() -> None:
    assert name_columns(["id", "state"], ["lr", "id"], "param.") == {"lr": "lr", "id": "param.id"}
    assert name_columns(["id", "lr", "metric.lr"], ["lr", "loss"], "metric.") == {
        "lr": "metric.metric.lr",
        "loss": "loss",
    }


def test_two_names_never_share_a_column() -> None:
    assert name_columns(["id"], ["metric.id", "id", "id"], "metric.") == {
        "metric.id": "metric.id",
        "id": "metric.metric.id",
    }


def test_parameters_that_are_the_same_everywhere_do_not_vary() -> None:
    rows: list[Row] = [{"lr": 0.1, "model": "a", "only": 1}, {"lr": 0.2, "model": "a", "only": None}]
    assert varying(rows, ["model", "lr", "only"]) == ["lr", "only"]
    assert varying([], ["lr"]) == []


# -- order ----------------------------------------------------------------------------------------------------------


def test_numbers_come_first_then_words_and_what_is_missing_last_in_either_direction() -> None:
    rows = rows_of("b", None, 2, NAN, "a", -1.5, "10", INF)
    assert ids(sorted_rows(rows, "x")) == [5, 2, 6, 7, 4, 0, 1, 3]
    assert ids(sorted_rows(rows, "x", down=True)) == [7, 6, 2, 5, 0, 4, 1, 3]


def test_equal_rows_stay_in_their_order() -> None:
    rows = rows_of(1, 1.0, 0, 1)
    assert ids(sorted_rows(rows, "x")) == [2, 0, 1, 3]
    assert ids(sorted_rows(rows, "x", down=True)) == [0, 1, 3, 2]


@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([1])))
def test_anything_can_be_sorted_and_no_row_is_lost(values: list[Any]) -> None:
    for down in (False, True):
        assert sorted(ids(sorted_rows(rows_of(*values), "x", down))) == list(range(len(values)))


def test_the_best_is_the_lowest_or_the_highest_number() -> None:
    rows = rows_of(None, 3, NAN, 1, "nan", "words", 2)
    assert ids(best_rows(rows, "x")) == [3]
    assert ids(best_rows(rows, "x", lowest=False)) == [1]
    assert best_rows(rows_of(None, NAN, "words"), "x") == []


def test_the_best_of_each_group_the_best_group_first() -> None:
    rows: list[Row] = [
        {"id": 0, "model": "a", "data": 1, "acc": 0.5},
        {"id": 1, "model": "b", "data": 1, "acc": 0.9},
        {"id": 2, "model": "a", "data": 2, "acc": 0.7},
        {"id": 3, "model": "c", "data": 1, "acc": None},
    ]
    assert ids(best_rows(rows, "acc", lowest=False, per=["model"])) == [1, 2]
    assert ids(best_rows(rows, "acc", lowest=True, per=["model", "data"])) == [0, 2, 1]


# -- filters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ("x=0.1", 0.1, True), ("x=0.1", "0.10", True), ("x=1e-1", 0.1, True), ("x==0.1", 0.1, True),
        ("x=0.3", 0.1 + 0.2, True), ("x=0.1", None, False), ("x!=0.1", None, True), ("x!=0.1", 0.1, False),
        ("x=10000000001", 10000000002, False), ("x=nan", NAN, True), ("x=1", NAN, False),
        ("x=", None, True), ("x!=", None, False), ("x=", 1, False), ("x!=", 0, True),
        ("x=failed", "failed", True), ("x=Failed", "failed", False), ("x=true", True, True), ("x=False", False, True),
        ("x<0.3", 0.2, True), ("x<0.3", 0.3, False), ("x<=0.3", 0.3, True), ("x>1", 2, True), ("x>=2", 2, True),
        ("x<3", "2", True), ("x<3", "abc", False), ("x<3", None, False), ("x<3", NAN, False), ("x>3", INF, True),
        ("x<b", "a", True), ("x<b", 1, False),
        ("x~res*", "resnet50", True), ("x~res*", "Resnet", False), ("x~res", "resnet", False),
        ("x~r?s", "res", True), ("x~*a.b*", "xaxb", False), ("x~*", None, False), ("x!~res*", "vgg", True),
        ("x!~res*", None, True), ("x~1*", 12, True),
        (" x  <  0.3 ", 0.2, True), ("x=a=b", "a=b", True),
    ],
)  # fmt: skip
def test_a_condition_holds_or_not(condition: str, value: Any, holds: bool) -> None:
    parsed = parse_condition(condition)
    assert parsed.column == "x"
    assert parsed.holds(value) is holds


@pytest.mark.parametrize("text", ["", "loss", "<3", "=", "lr=<0.1", "lr>>1"])
def test_what_is_no_condition_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a filter\. Write lr=0\.1"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["loss<", "model~", "loss>= "])
def test_a_condition_must_say_what_to_compare_with(text: str) -> None:
    with pytest.raises(UsageError, match="does not say what to compare with"):
        parse_condition(text)


# -- failures -------------------------------------------------------------------------------------------------------


def test_the_same_error_is_told_once_the_most_frequent_first() -> None:
    groups = failure_groups(
        [(1, "No such file: '/a/b'"), (2, "CUDA error at 0x12"), (3, "CUDA error at 0xff"), (5, "timed-out")]
    )
    assert [(group.error, group.ids) for group in groups] == [
        ("CUDA error at 0x12", [2, 3]),
        ("No such file: '/a/b'", [1]),
        ("timed-out", [5]),
    ]
    assert failure_groups([]) == []
