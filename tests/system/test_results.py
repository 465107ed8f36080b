"""`duckrow report` and `duckrow results`: what runs report, and the table of a sweep."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import Duckrow

PROGRAM = f"{sys.executable} -m duckrow"
PYTHON = f"{sys.executable} -c"

# A sweep by way of the store: {name, points: [[parameters, command], ...]} on stdin.
_MAKE_SWEEP = """
import json, os, sys
from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.store.sweeps import SweepStore
asked = json.load(sys.stdin)
client = Client()
root = os.path.abspath("duckrow-runs")
with client.database.transaction():
    sweep = SweepStore(client.database).add("default", asked["name"], root, asked["pattern"])
specs = []
for number, (parameters, command) in enumerate(asked["points"]):
    folder = f"{root}/default/{asked['name']}/{number}"
    os.makedirs(folder)
    point = PointOfSweep(sweep, json.dumps(parameters), json.dumps(parameters))
    specs.append(JobSpec(command, os.getcwd(), name=f"run-{number}", folder=folder, point=point))
submit_jobs(client, specs)
"""


def sweep(duckrow: Duckrow, name: str, points: list[tuple[dict[str, Any], str]], pattern: str = "train {lr}") -> None:
    asked = json.dumps({"name": name, "pattern": pattern, "points": points})
    subprocess.run(
        [sys.executable, "-c", _MAKE_SWEEP], input=asked, text=True, cwd=duckrow.work, env=duckrow.env, check=True
    )


def said(duckrow: Duckrow, *words: str, **options: Any) -> tuple[str, str, int]:
    done = duckrow(*words, ok=False, **options)
    return done.stdout, done.stderr, done.returncode


def without_times(text: str) -> str:
    return re.sub(r" +\d+\.\d+s\b", "  T", text)


@pytest.fixture
def worked(duckrow: Duckrow) -> Duckrow:
    """Five runs, each of which reports in a way of its own; the last two fail alike."""
    duckrow.up("--slots", "2")
    from_python = "from duckrow.api.results.metrics import report; report(loss=0.5, step=1); report(loss=0.25, step=2)"
    points = [
        ({"lr": 0.1, "model": "a", "data": "mnist"}, f"{PYTHON} '{from_python}'"),
        ({"lr": 0.01, "model": "a", "data": "mnist"}, f"{PROGRAM} report loss=0.125 step=3 note='so, \"so\"'"),
        ({"lr": 0.1, "model": "b", "data": "mnist"}, """echo '{"loss": NaN, "step": 4}' >> "$DUCKROW_METRICS" """),
        ({"lr": 0.01, "model": "b", "data": "mnist"}, "echo begin; echo 'CUDA error 7' >&2; exit 1"),
        ({"lr": 0.001, "model": "b", "data": "mnist"}, "echo 'CUDA error 8' >&2; exit 1"),
    ]
    sweep(duckrow, "demo", points, "train --lr {lr} --model {model} --data {data}")
    duckrow("wait", "1-5", ok=False)
    return duckrow


# -- the table ------------------------------------------------------------------------------------------------------


def test_the_table_shows_what_varies_and_below_it_why_some_failed(worked: Duckrow) -> None:
    out, err, code = said(worked, "results")
    assert code == 0
    # How wide a column is does not matter here.
    assert [line.split() for line in without_times(out).splitlines()] == [
        ["ID", "lr", "model", "loss", "step", "note", "STATE", "TIME", "MEMORY"],
        ["1", "0.1", "a", "0.25", "2", "succeeded", "T"],
        ["2", "0.01", "a", "0.125", "3", "so,", '"so"', "succeeded", "T"],
        ["3", "0.1", "b", "NaN", "4", "succeeded", "T"],
        ["4", "0.01", "b", "failed", "T"],
        ["5", "0.001", "b", "failed", "T"],
    ]
    assert err == (
        "demo: train --lr {lr} --model {model} --data {data}  (in all runs data=mnist)\n"
        "5 runs: 3 succeeded, 2 failed.\n"
        "2 of 5 failed: 2 x CUDA error 7\n"
        "Run only those again: duckrow rerun --failed --sweep demo\n"
    )


def test_in_a_narrow_terminal_lines_fit_and_what_is_left_out_is_named(duckrow: Duckrow) -> None:
    report = " ".join(f"metric_number_{number}={number}.123" for number in range(8))
    sweep(duckrow, "demo", [({"lr": 0.1}, f"{PROGRAM} report {report}"), ({"lr": 0.01}, "true")])
    duckrow("wait", "1,2")
    ours, theirs = pty.openpty()
    env = {**duckrow.env, "COLUMNS": "60"}
    done = subprocess.run(duckrow.command("results"), stdout=theirs, stderr=subprocess.PIPE, env=env, text=True)
    lines = os.read(ours, 10_000).decode().splitlines()
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in lines)
    assert lines[0].split()[:2] == ["ID", "lr"]
    assert "No room for: " in done.stderr
    assert "metric_number_7" in done.stderr
