"""The examples, and what the pages on sweeps show, really run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow

ROOT = Path(__file__).parent.parent.parent


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def shell(duckrow: Duckrow, script: str) -> subprocess.CompletedProcess[str]:
    """As typed in a terminal, with this duckrow and this Python on the PATH."""
    env = {**duckrow.env, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{duckrow.env['PATH']}"}
    return subprocess.run(
        ["/bin/sh", "-c", script], cwd=duckrow.work, env=env, capture_output=True, text=True, timeout=DEADLINE_S
    )


# -- examples/sweep.yaml --------------------------------------------------------------------------------------------


@pytest.fixture
def with_examples(duckrow: Duckrow) -> Duckrow:
    shutil.copytree(ROOT / "examples", duckrow.work / "examples")
    return duckrow


def test_the_example_sweep_runs_as_its_first_lines_say(with_examples: Duckrow) -> None:
    lines = (ROOT / "examples/sweep.yaml").read_text().splitlines()
    sweep, best = (line.removeprefix("#   ") for line in lines if line.startswith("#   "))
    first = shell(with_examples, sweep)
    assert first.returncode == 1
    assert "6 succeeded, 2 failed" in first.stderr
    shown = shell(with_examples, best)
    assert [line.split()[1:3] for line in shown.stdout.splitlines()[1:]] == [["0.1", "128"], ["0.1", "256"]]
    assert "2 of 8 failed: 2 x ValueError: the loss exploded" in shown.stderr
    again = shell(with_examples, sweep)
    assert "2 that did not succeed run again, 6 skipped (succeeded before)." in again.stderr


def test_the_training_reports_without_duckrow_installed(with_examples: Duckrow) -> None:
    metrics = with_examples.work / "metrics.jsonl"
    for env in ({}, {"DUCKROW_METRICS": str(metrics)}):
        command = [sys.executable, "-S", "examples/train.py", "--epochs", "2", "--batch", "3200"]
        subprocess.run(command, cwd=with_examples.work, env={**os.environ, **env}, check=True, capture_output=True)
    assert [json.loads(line)["epoch"] for line in metrics.read_text().splitlines()] == [1, 2]


# -- docs/sweeps.md -------------------------------------------------------------------------------------------------


def test_the_sweep_files_of_the_page_are_sweeps(duckrow: Duckrow) -> None:
    (yaml,), (toml,) = blocks("sweeps.md", "yaml"), blocks("sweeps.md", "toml")
    (duckrow.work / "sweep.yaml").write_text(yaml)
    (duckrow.work / "sweep.toml").write_text(toml)
    assert len(duckrow("sweep", "--from", "sweep.yaml").stdout.splitlines()) == 10
    assert len(duckrow("sweep", "--from", "sweep.toml").stdout.splitlines()) == 20


def test_the_python_of_the_page_runs(duckrow: Duckrow) -> None:
    shutil.copy(ROOT / "examples/train.py", duckrow.work / "train.py")
    (duckrow.work / "script.py").write_text("\n".join(blocks("sweeps.md", "python")))
    duckrow.up("--slots", "2")
    told = shell(duckrow, "python script.py")
    assert told.returncode == 0, told.stderr
    summary, best, *results = told.stdout.splitlines()
    assert summary == "4 new"
    assert best.startswith(str(duckrow.work / "duckrow-runs/default/rates/batch="))
    assert results[0].startswith("lr=0.1,seed=0 14.76225")
    assert len(results) == 4


def test_the_step_further_from_gpu_task_scheduler_runs(duckrow: Duckrow) -> None:
    (block,) = [block for block in blocks("coming-from-gpu-task-scheduler.md", "python") if "duckrow.sweep" in block]
    (duckrow.work / "script.py").write_text(block)
    duckrow.up("--slots", "2")
    told = shell(duckrow, "python script.py")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(str(duckrow.work / "duckrow-runs/default/test/method="))


# -- README.md ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("devices", [("--devices", "0,1"), ("--slots", "2")], ids=["with GPUs", "without"])
def test_the_python_of_the_readme_runs(duckrow: Duckrow, devices: tuple[str, str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (duckrow.work / "script.py").write_text(block)
    duckrow.up(*devices)
    told = shell(duckrow, "python script.py")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("0.1\n[{'id': ")
