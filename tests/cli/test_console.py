"""Printing: what may go to a terminal, and tables that fit."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.cli.console import (
    OUTCOME_COLOURS,
    clean,
    paint,
    print_json,
    print_json_list,
    print_table,
    say,
    wants_colour,
)
from duckrow.core.life.states import Outcome, State


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("plain ünïcode 🦆", "plain ünïcode 🦆"),
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred", " [31mred"),
        ("bell\a", "bell "),
        (os.fsdecode(b"caf\xe9"), "caf?"),
        ("\u202eevil", " evil"),
        ("", ""),
    ],
)
def test_what_is_not_printable_does_not_reach_the_terminal(text: str, printed: str) -> None:
    assert clean(text) == printed


@given(st.text())
def test_clean_text_keeps_its_length_and_can_be_printed(text: str) -> None:
    assert len(clean(text)) == len(text)
    assert clean(text).isprintable()
    clean(text).encode()


def test_colours_are_for_terminals() -> None:
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())


@pytest.mark.parametrize(
    ("name", "value", "terminal", "pipe"),
    [
        ("NO_COLOR", "1", False, False),
        ("NO_COLOR", "", True, False),
        ("FORCE_COLOR", "1", True, True),
        ("TERM", "dumb", False, False),
    ],
)
def test_a_person_may_say_whether_there_are_colours(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, terminal: bool, pipe: bool
) -> None:
    monkeypatch.setenv(name, value)
    assert (wants_colour(Terminal()), wants_colour(io.StringIO())) == (terminal, pipe)


def test_no_colour_is_stronger_than_forced_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not wants_colour(Terminal())


def test_painted_text_ends_its_colour() -> None:
    assert paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert paint("x", "", Terminal()) == "x"
    assert paint("x", "red", io.StringIO()) == "x"


def test_every_state_and_outcome_has_its_colour() -> None:
    assert set(OUTCOME_COLOURS) == {*(state.value for state in State if state is not State.DONE), *map(str, Outcome)}


def test_a_table_has_columns_as_wide_as_they_need_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("ID", "NAME", "COMMAND"), [("1", "a", "echo"), ("100", "longer name", "x" * 300)])
    assert capsys.readouterr().out.splitlines() == [
        "ID   NAME         COMMAND",
        "1    a            echo",
        "100  longer name  " + "x" * 300,
    ]


def test_a_table_has_no_blanks_at_the_end_of_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [("long", "")])
    assert capsys.readouterr().out == "A     B\nlong\n"


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [])
    assert capsys.readouterr().out == "A  B\n"


def test_in_a_terminal_the_last_column_is_cut_at_the_end_of_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(("ID", "COMMAND"), [("1", "y" * 100), ("2", "short")])
    assert terminal.getvalue().splitlines() == ["ID  COMMAND", "1   " + "y" * 25 + "…", "2   short"]


def test_no_line_is_longer_than_the_narrowest_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "5")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(("ID", "COMMAND"), [("1", "y" * 100)])
    assert terminal.getvalue().splitlines()[1] == "1   …"


def test_cells_are_cleaned_and_lines_are_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_table(("ID", "NAME"), [("1", "a\nb"), ("2", "c")], ["red", ""])
    assert terminal.getvalue().splitlines() == ["\x1b[1mID  NAME\x1b[0m", "\x1b[31m1   a b\x1b[0m", "2   c"]


def test_messages_go_to_stderr_and_data_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    say("for you")
    print_json({"a": [1, None]})
    out, err = capsys.readouterr()
    assert err == "for you\n"
    assert json.loads(out) == {"a": [1, None]}


def test_a_message_that_is_not_utf8_is_said_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    say(os.fsdecode(b"caf\xe9"))
    assert capsys.readouterr().err == "caf?\n"


def test_that_nobody_hears_a_message_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stderr", Gone())
    say("anybody?")


@given(st.lists(st.lists(st.dictionaries(st.text(), st.none() | st.lists(st.text())), max_size=3), max_size=4))
def test_a_list_that_is_printed_in_slices_is_the_same_json(slices: list[list[object]]) -> None:
    at_once, in_slices = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(at_once):
        print_json([value for values in slices for value in values])
    with contextlib.redirect_stdout(in_slices):
        print_json_list(slices)
    assert in_slices.getvalue() == at_once.getvalue()
