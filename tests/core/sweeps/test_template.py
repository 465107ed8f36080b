"""Templates: which braces are placeholders, and what is put in their place."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.sweeps.template import placeholders, render

POINT = {"lr": "1e-3", "seed": 3, "model.lr": 0.5, "batch-size": 64, "größe": 1}


def complaint(pattern: str, point: dict[str, Any]) -> str:
    with pytest.raises(UsageError) as raised:
        render(pattern, point)
    return str(raised.value)


def test_each_placeholder_becomes_its_value() -> None:
    assert render("train --lr={lr} --seed {seed} {lr}", POINT) == "train --lr=1e-3 --seed 3 1e-3"


def test_names_may_have_dots_dashes_and_letters_of_any_language() -> None:
    assert render("{model.lr} {batch-size} {größe}", POINT) == "0.5 64 1"


@pytest.mark.parametrize(
    "pattern",
    [
        "echo ${HOME} ${lr} ${lr:-1}",
        '{"a": 1}',
        "awk '{print $1}'",
        "echo {a,b} {} {1..9} {a..z} {0} { lr } {-x}",
        "find . -exec rm {} +",
        "echo '{key: value}' {file.txt}",
        "xargs -I{} cp {} {{}}",
        "jq '{lr,seed}'",
        "{lr!x} {lr!r!r}",
    ],
)
def test_all_other_braces_stay(pattern: str) -> None:
    assert render(pattern, POINT) == pattern
    assert render(pattern, POINT, quoted=False) == pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{{lr}}", "{lr}"),
        ("{{other}} {{lr:.3e}} {{lr!r}}", "{other} {lr:.3e} {lr!r}"),
        ("${{HOME}}", "${HOME}"),
        ("{{{seed}}}", "{3}"),
        ("{{seed},{seed}}", "{3,3}"),
        ('\'{"lr":{lr},"in":{"seed":{seed}}}\'', '\'{"lr":1e-3,"in":{"seed":3}}\''),
    ],
)
def test_doubled_braces_are_the_text_itself(pattern: str, expected: str) -> None:
    assert render(pattern, POINT) == expected


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (
            "{lrr}",
            "The command has {lrr}, but no parameter is called lrr. Did you mean {lr}? For the text {lrr} itself, write"
            " {{lrr}}.",
        ),
        (
            "awk {print}",
            "The command has {print}, but no parameter is called print. The parameters are: lr, model.lr. For the text"
            " {print} itself, write {{print}}.",
        ),
    ],
)
def test_a_word_that_is_no_parameter_is_told_with_the_nearest_that_is(pattern: str, sentence: str) -> None:
    assert complaint(pattern, {"lr": 1, "model.lr": 1}) == sentence


@pytest.mark.parametrize("pattern", ["{LR}", "{ls:.3e}", "{r!r}", "{l}"])
def test_a_small_slip_is_recognised(pattern: str) -> None:
    assert "Did you mean {lr}?" in complaint(pattern, {"epochs": 1, "lr": 1})


def test_a_slip_in_a_name_with_a_dot_is_recognised_too() -> None:
    assert "Did you mean {model.lr}?" in complaint("{model.rl}", {"model.lr": 1})
    assert "Did you mean {batch-size}?" in complaint("{batch_size}", {"batch-size": 1})


def test_without_parameters_no_word_is_right() -> None:
    assert "The parameters are: none." in complaint("{lr}", {})


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        ("0.001", "{x:.3e}", "1.000e-03"),
        ("1e-3", "{x:g}", "0.001"),
        ("3", "{x:03d}", "003"),
        ("3", "{x:03}", "003"),
        ("007", "{x:03d}", "007"),
        ("nan", "{x:.1f}", "nan"),
        ("0.12345", "{x:.3}", "0.123"),
        ("adam", "{x:.3}", "ada"),
        ("1e-3", "{x:s}", "1e-3"),
        ("1e-3", "{x:_>6}", "__1e-3"),
        ("1e-3", "{x:}", "1e-3"),
        (3, "{x:03d}", "003"),
        (3, "{x:.1f}", "3.0"),
        (12345, "{x:,}", "12,345"),
        (True, "{x:d}", "1"),
        (True, "{x:_>5}", "_True"),
        ([1, 2], "{x:_>7}", "__[1,2]"),
        (date(2024, 5, 6), "{x:%Y-%m}", "2024-05"),
        ("a", "{x!r}", "'a'"),
        (0.5, "{x!s:_<5}", "0.5__"),
        ("ä", "{x!a}", "'\\xe4'"),
        ({"a": [1]}, "{x}", '{"a":[1]}'),
        (None, "{x}", "None"),
    ],
)
def test_a_spec_formats_a_number_where_it_needs_one(value: Any, field: str, expected: str) -> None:
    assert render(field, {"x": value}, quoted=False) == expected


@pytest.mark.parametrize(("value", "field"), [("adam", "{x:.3e}"), ("1e3", "{x:03d}"), (0.5, "{x:d}"), (1, "{x: no}")])
def test_an_impossible_spec_is_told(value: Any, field: str) -> None:
    shown = {"1e3": "1000.0"}.get(value, value)
    assert complaint(field, {"x": value}) == (
        f"The value '{shown}' of x cannot be written as {field}. Write {{x}} for the value as it is, or {{{field}}} for"
        f" the text {field} itself."
    )


def test_a_text_is_not_searched_again_after_it_was_put_in() -> None:
    assert render("{a} {b}", {"a": "{b}", "b": "{{a}}"}, quoted=False) == "{b} {{a}}"
    assert render("{a} {b}", {"a": "{b}", "b": "{{a}}"}) == "'{b}' '{{a}}'"


def test_placeholders_are_listed_once_and_in_order() -> None:
    pattern = "{lr} ${HOME} {seed:03d} {{no}} {model.lr} {lr!r} {} {a,b} {a..z} {key: value} {{{last}}} '{print $1}'"
    assert placeholders(pattern) == ["lr", "seed", "model.lr", "last"]
    assert placeholders("echo") == []


def test_a_nul_byte_is_told() -> None:
    assert "has a NUL byte" in complaint("echo \0", {})
    assert complaint("{x}", {"x": "a\0"}).startswith("The value of x has a NUL byte")


@given(st.text(alphabet="{}$a:!r.0\\'\"`()#<d ", max_size=12), st.booleans())
def test_whatever_the_braces_the_end_is_a_command_or_a_sentence(pattern: str, quoted: bool) -> None:
    with suppress(UsageError):
        assert "{a}" not in render(pattern, {"a": 1}, quoted).replace("${a}", "") or "{{a}" in pattern


PIECES = {"{a}": "1", "{{a}}": "{a}", "${a}": "${a}", "{": "{", "}": "}", "{}": "{}", "{a:02d}": "01", "{{": "{{"}


@given(st.lists(st.sampled_from(list(PIECES))))
def test_what_stands_beside_a_piece_does_not_change_it(pieces: list[str]) -> None:
    assert render(" ".join(pieces), {"a": 1}) == " ".join(PIECES[piece] for piece in pieces)
