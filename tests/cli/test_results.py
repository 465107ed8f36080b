"""The table of results: as much of it as a person can see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from duckrow.cli.main import run_cli
from tests.api.results.test_results import Bench

RUNS = 300


@pytest.fixture
def long_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    bench.sweep("long", [{"lr": number} for number in range(RUNS)])
    bench.client.close()
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("long_sweep")
def test_a_terminal_gets_as_many_runs_as_fit_and_is_told_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("LINES", "24")
    assert run_cli(["results", "--sort", "-lr"]) == 0
    shown = capsys.readouterr()
    rows = shown.out.splitlines()[1:]
    assert rows[0].split()[:2] == [str(RUNS), str(RUNS - 1)]
    assert len(rows) + len(shown.err.splitlines()) < 24
    assert f"{RUNS - len(rows)} more: add --all" in shown.err
    assert run_cli(["results", "--all"]) == 0
    shown = capsys.readouterr()
    assert (len(shown.out.splitlines()), "more" in shown.err) == (RUNS + 1, False)


@pytest.mark.usefixtures("long_sweep")
def test_a_program_gets_all_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["results"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == RUNS + 1
