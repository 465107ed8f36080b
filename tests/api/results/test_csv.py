"""Results as CSV: a spreadsheet takes no cell of them for a formula, and programs still read the numbers."""

from __future__ import annotations

import csv

import pytest

from duckrow.api.results.csv import csv_text


def cell(value: object, name: str = "x") -> str:
    return list(csv.reader(csv_text([{name: value}], [name]).splitlines()))[1][0]


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://evil.example")',
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(1+1)",
        "\t=1",
        "-",
        "--x",
    ],
)
def test_a_text_that_a_spreadsheet_would_calculate_is_marked_as_text(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_a_carriage_return_in_front_does_not_hide_a_formula() -> None:
    """Nor one within a cell, which would end the line there."""
    assert csv_text([{"x": "\r=1", "y": "a\r=1"}], ["x", "y"]) == 'x,y\n"\'\r=1","a\r=1"\n'


def test_names_of_columns_are_marked_too() -> None:
    assert csv_text([{"=x": 1}], ["=x"]) == "'=x\n1\n"


@pytest.mark.parametrize("value", [-0.5, "-0.5", "-1e-3", "+3", -7, "-inf", "1=2", "a-b", "", "'=x"])
def test_numbers_and_ordinary_texts_stay_as_they_are(value: object) -> None:
    assert cell(value) == str(value)
