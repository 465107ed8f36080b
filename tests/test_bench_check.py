"""`make bench-check` says which ratio has become a fifth worse than the recorded one. Nothing is measured here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as program
from benchmarks import ratios

RECORDED = {"ls / python3 -c pass": 5.0, "dispatch / xargs": 1.5, "on SLURM / packed": 1.1}


def test_a_ratio_is_worse_if_it_is_more_than_a_fifth_larger() -> None:
    measured = {"ls / python3 -c pass": 6.01, "dispatch / xargs": 1.79, "new / old": 9.0}
    compared = ratios.compare(RECORDED, measured)
    assert [each.is_worse for each in compared] == [True, False, False]
    assert compared[0].sentence == "ls / python3 -c pass: 6.01 x, 20 % more than the recorded 5.00 x."


def test_the_report_has_a_row_for_each_ratio_and_a_sentence_for_each_that_is_worse() -> None:
    lines = ratios.report(ratios.compare(RECORDED, {"dispatch / xargs": 3.0}), {"new / old": 9.0})
    rows = [line.split() for line in lines[1:5]]
    assert [row[-1] for row in rows] == ["-", "WORSE", "-", "x"]
    assert lines[5:] == ["", "dispatch / xargs: 3.00 x, 100 % more than the recorded 1.50 x."]
    assert ratios.report(ratios.compare(RECORDED, RECORDED), {})[-1] == "No ratio is more than 20% worse."


def test_what_is_recorded_again_replaces_what_was_and_leaves_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    ratios.record(RECORDED, "2026-01-01", "old", file)
    ratios.record({"dispatch / xargs": 1.23456}, "2026-02-02", "new", file)
    assert ratios.read(file) == {**RECORDED, "dispatch / xargs": 1.235}
    assert json.loads(file.read_text())["recorded"] == "2026-02-02"


@pytest.mark.parametrize(("ratio", "code"), [(1.7, 0), (1.9, 1)])
def test_the_program_fails_when_a_ratio_is_worse(
    ratio: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "recorded.json"
    ratios.record(RECORDED, "2026-01-01", "old", file)
    monkeypatch.setattr(ratios, "noted", {})
    monkeypatch.setattr(ratios, "read", lambda: RECORDED)
    asked = SimpleNamespace(main=lambda: ratios.note("dispatch / xargs", ratio))
    monkeypatch.setattr(program, "importlib", SimpleNamespace(import_module=lambda _name: asked))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--check", "dispatch"])
    assert program.main() == code
    assert ("more than the recorded" in capsys.readouterr().out) == bool(code)


def test_an_option_that_is_not_known_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--chek"])
    assert program.main() == 2
    assert "There is no option --chek." in capsys.readouterr().err


def test_every_recorded_ratio_is_a_number_above_nothing() -> None:
    assert ratios.read()
    assert all(ratio > 0 for ratio in ratios.read().values())
