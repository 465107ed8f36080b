"""What duckrow learns from the runs of an application: it is known by its script, and each run by its overrides."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duckrow.api.adding.options import read_options
from duckrow.cli.options.json_jobs import spec_of_line
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.title import title_of
from duckrow.hydra.destinations import OwnRun
from duckrow.hydra.jobs import jobs_of
from duckrow.hydra.multirun import HydraRun
from tests.cli.options.test_json_jobs import OPTIONS


def main(config: Any) -> None:
    """Of an application."""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The path of the script that defines `main`."""
    path = str(tmp_path / "train.py")
    monkeypatch.setattr(main, "__module__", "__main__")
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(main=main, __file__=path))
    return path


def run_of(folder: Path, **options: Any) -> JobSpec:
    overrides = ["+x=3", "model.lr=0.5"]
    run = HydraRun(0, overrides, json.dumps(overrides), "0", str(folder / "0"))
    [spec] = jobs_of([run], read_options(options), "launch.pkl", 1, main)
    return spec


@pytest.mark.parametrize("gpu_mem", ["auto", "10G"])
def test_a_run_is_known_by_its_script_and_its_overrides(app: str, tmp_path: Path, gpu_mem: str) -> None:
    needs = run_of(tmp_path, gpu_mem=gpu_mem).needs
    assert needs.recipe == f"call {app}:main"
    assert json.loads(needs.parameters) == {"x": "3", "model.lr": "0.5"}


@pytest.mark.parametrize("module", ["__main__", "project.training"])
def test_a_run_with_devices_of_its_own_is_known_by_the_same(
    app: str, tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes through a line of JSON to another process."""
    monkeypatch.setattr(main, "__module__", module)
    spec = run_of(tmp_path, gpu_mem="auto")
    line = OwnRun(str(tmp_path), [], {"gpu_mem": "auto"}, None)._line(spec)
    arrived = spec_of_line(json.dumps(line), replace(OPTIONS, cwd=os.sep), None)
    assert (arrived.needs, arrived.point) == (spec.needs, spec.point)


def test_a_run_that_names_no_memory_needs_no_pattern(app: str, tmp_path: Path) -> None:
    spec = run_of(tmp_path)
    line = OwnRun(str(tmp_path), [], {}, None)._line(spec)
    assert "pattern" not in line["point"]
    assert spec_of_line(json.dumps(line), OPTIONS, None).needs == spec.needs


def test_people_see_of_which_application_a_run_is(app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most functions are called `main`."""
    assert title_of(run_of(tmp_path).command) == "train.main(x=3, model.lr=0.5)"
    monkeypatch.setattr(main, "__module__", "project.training")
    assert title_of(run_of(tmp_path).command) == "training.main(x=3, model.lr=0.5)"
