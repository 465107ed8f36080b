"""Verbs without options are answered without click, exactly as click would have them answered."""

from __future__ import annotations

from typing import Any

import click
import pytest

from duckrow.cli import plain
from duckrow.cli.commands import ls
from duckrow.cli.main import run_cli
from duckrow.cli.views.job_list import ListOptions


def parsed(command: click.Command, words: list[str]) -> dict[str, Any]:
    return command.make_context("duckrow", words).params


def test_what_click_makes_of_no_options_is_what_the_verb_takes_by_default() -> None:
    given = parsed(ls.command, [])
    assert given.pop("words") == ()
    assert ListOptions(**given) == ListOptions()


@pytest.mark.parametrize("words", [[], ["ls", "--all"], ["ls", "3"], ["ls", "-h"], ["kill"], ["no-such-verb"]])
def test_anything_else_is_for_click(words: list[str]) -> None:
    assert plain.answer(words) is None


@pytest.mark.parametrize("words", [["ls"], ["status"], ["queue"]])
def test_a_verb_without_options_is_answered_under_each_of_its_names(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == 0
    assert "No jobs yet" in capsys.readouterr().err


def test_a_shell_that_completes_gets_its_words_from_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DUCKROW_COMPLETE", "bash_complete")
    assert plain.answer(["ls"]) is None
