"""Jobs as lines of a table: columns to choose, widths that hold."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace

import pytest

from duckrow.api.queue.listing import COLUMNS
from duckrow.api.queue.views import JobView
from duckrow.cli.console import display_width, fit, print_table
from duckrow.cli.views.job_table import CELLS, clock_text, default_columns, eta_text, job_lines

WAITING = JobView(
    id=7, name="fit", project="default", command="python fit.py", cwd="/", state="queued", outcome=None, exit_code=None,
    signal=None, gpus=None, devices=[], pid=None, attempts=0, priority=30, created_at=0.0, started_at=None,
    ended_at=None, duration_s=None, peak_memory_mb=None, log=None, host="daemon", detail="",
    title="python fit.py",
)  # fmt: skip


def test_there_is_a_cell_for_every_column() -> None:
    assert list(CELLS) == list(COLUMNS)
    assert all(isinstance(cell(WAITING), str) for cell in CELLS.values())


def test_the_columns_are_those_that_were_asked_for_in_their_order() -> None:
    assert job_lines([WAITING], ["command", "id"]) == ["COMMAND        ID", "python fit.py  7"]


def test_an_eta_has_its_column_where_there_is_one() -> None:
    assert "eta" not in default_columns([WAITING])
    assert "eta" in default_columns([WAITING, replace(WAITING, eta_s=1.0)])


@pytest.mark.parametrize(("eta_s", "text"), [(None, ""), (0.0, "any moment"), (75.0, "~1m 15s")])
def test_an_eta_is_about_right(eta_s: float | None, text: str) -> None:
    assert eta_text(eta_s) == text


def test_what_keeps_a_job_from_starting_stands_beside_its_state() -> None:
    assert "queued (run ended)" in job_lines([replace(WAITING, run_ended=True)])[1]
    assert "queued (held)" in job_lines([replace(WAITING, held=True)])[1]


def test_two_projects_are_told_apart() -> None:
    lines = job_lines([WAITING, replace(WAITING, id=8, project="thesis")])
    assert "default/fit" in lines[1]
    assert "thesis/fit" in lines[2]


def test_a_time_of_another_day_has_its_date() -> None:
    assert len(clock_text(time.time())) == len("12:34:56")
    assert clock_text(86400 * 365).startswith("1970-1") or clock_text(86400 * 365).startswith("1971-01")


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a日", 3), ("", 0)])
def test_wide_characters_take_two_cells(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"), [("abcdef", 4, "abc…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("ab", 2, "ab")]
)
def test_what_is_too_long_is_cut_to_its_cells(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown
    assert display_width(fit(text, width)) <= width


def test_wide_characters_do_not_break_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "COMMAND"), [("日本語", "x"), ("abc", "y")])
    assert capsys.readouterr().out.splitlines() == ["NAME    COMMAND", "日本語  x", "abc     y"]


def test_in_a_narrow_terminal_the_widest_columns_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(("ID", "NAME", "COMMAND"), [("1", "n" * 50, "c" * 50), ("2", "short", "true")])
    lines = terminal.getvalue().splitlines()
    assert all(display_width(line) <= 40 for line in lines)
    assert lines[1].endswith("…")
    assert "n…" in lines[1]
