"""How what a page shows is compared with what is printed, and how its commands are read."""

from __future__ import annotations

import pytest

from tests.pages.reading import Block
from tests.shown import differences, is_plain


def test_times_processes_and_widths_may_differ() -> None:
    shown = "1   train  running  GPU 0  5m 12s  ~14m 02s\npid 4242\nLAST 2h 05m ago"
    assert not list(differences(shown, "1 train running GPU 0 0.3s any moment\npid 7\nLAST 3s ago"))


def test_a_word_that_has_changed_is_told() -> None:
    assert list(differences("$ x\n1 failed", "$ x\n1 lost")) == ["shown: 1 failed\n  now: 1 lost"]
    assert list(differences("a", "a\nb")) == ["shown: (nothing)\n  now: b"]


def test_three_dots_stand_for_any_lines() -> None:
    assert not list(differences("a\n...\nd\n...", "a\nb\nc\nd\ne"))
    assert list(differences("a\n...\nx", "a\nb\nc")) == ["shown: x\n  now: (nothing)"]


@pytest.mark.parametrize("script", ["duckrow ls", "duckrow sweep 'x {a} > $b' -p a 1 0..3", "duckrow ls --sort=-time"])
def test_what_needs_no_shell_is_known(script: str) -> None:
    assert is_plain(script)


@pytest.mark.parametrize("script", ["duckrow ls | x", "A=1 duckrow ls", "duckrow rm $id", "duckrow run < x", "a; b"])
def test_what_needs_a_shell_gets_one(script: str) -> None:
    assert not is_plain(script)


def test_a_command_has_all_its_lines_and_no_comment() -> None:
    block = Block("sh", "duckrow ls  # all\nx \\\n  y\nduckrow submit <<'END'\n# kept\nEND\n", "")
    assert list(block.commands()) == ["duckrow ls", "x    y", "duckrow submit <<'END'\n# kept\nEND"]
    assert list(Block("console", "$ a\nsays b\n$ c\n", "").commands()) == ["a", "c"]
