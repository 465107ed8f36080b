"""Sweeps from Python: commands and functions over a grid, their results, and the same call again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.fork_server import Script, run_to_end


@pytest.fixture
def daemon(duckrow: Duckrow) -> Duckrow:
    duckrow.up("--slots", "2")
    return duckrow


def python(duckrow: Duckrow, source: str) -> Any:
    """What a script in the working folder prints, as JSON."""
    (duckrow.work / "script.py").write_text(source)
    done = run_to_end(Script, ["script.py"], duckrow.work, duckrow.env, DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_command_is_swept_and_its_results_come_as_rows(daemon: Duckrow) -> None:
    rows = python(
        daemon,
        """
import duckrow, json
command = "echo '{\\"loss\\": {lr}{seed}}' >> $DUCKROW_METRICS"
sweep = duckrow.sweep(command, {"lr": [1, 2], "seed": "0..1"}, name="mine", timeout="1m").wait()
print(json.dumps([[row["lr"], row["seed"], row["loss"], row["state"]] for row in sweep.results()]))
""",
    )
    assert rows == [
        [1, 0, 10, "succeeded"],
        [1, 1, 11, "succeeded"],
        [2, 0, 20, "succeeded"],
        [2, 1, 21, "succeeded"],
    ]


FUNCTION = """
import duckrow, json, os

def train(lr, seed):
    if seed == 1 and not os.path.exists("fixed"):
        raise ValueError("no")
    duckrow.report(loss=lr * seed)
    return [lr, seed, VERSION]

VERSION = 1
sweep = duckrow.sweep(train, [{"lr": 0.5, "seed": [1, 2]}, {"lr": [0.25], "seed": [4]}]).wait()
results = [job.result() if job.outcome == "succeeded" else job.outcome for job in sweep.jobs]
best = duckrow.results("train").best("loss", lowest=False)
print(json.dumps([sweep.summary, results, [row["seed"] for row in best]]))
"""


def test_a_function_is_swept_and_what_had_failed_runs_again_as_it_is_now(daemon: Duckrow) -> None:
    assert python(daemon, FUNCTION) == ["3 new", ["failed", [0.5, 2, 1], [0.25, 4, 1]], [2]]
    (daemon.work / "fixed").touch()
    again = python(daemon, FUNCTION)
    said = "1 that did not succeed run again, 2 skipped (succeeded before)"
    assert again == [said, [[0.5, 1, 1], [0.5, 2, 1], [0.25, 4, 1]], [2]]
    edited = python(daemon, FUNCTION.replace("VERSION = 1", "VERSION = 2"))
    assert edited == ["3 run again because VERSION was edited", [[0.5, 1, 2], [0.5, 2, 2], [0.25, 4, 2]], [2]]
    edited = python(daemon, FUNCTION.replace("[lr, seed,", "[lr, seed * 10,"))
    assert edited[:1] == ["3 run again because train and VERSION were edited"]
    assert edited[1] == [[0.5, 10, 1], [0.5, 20, 1], [0.25, 40, 1]]
    folder = daemon.work / "duckrow-runs" / "default" / "train" / "lr=0.5,seed=1"
    assert json.loads((folder / "params.json").read_text()) == {"lr": 0.5, "seed": 1}


WAITING = """
import duckrow, json

def train(lr):
    return lr

print(json.dumps(duckrow.sweep(train, {"lr": [1, 2]}, hold=True).summary))
"""


def test_runs_that_wait_with_a_function_as_it_was_are_told(daemon: Duckrow) -> None:
    assert python(daemon, WAITING) == "2 new"
    assert python(daemon, WAITING) == "2 already running or queued"
    edited = python(daemon, WAITING.replace("return lr", "return -lr"))
    assert edited == "2 already running or queued (2 with the old function)"


def test_a_swept_function_may_start_warm(daemon: Duckrow) -> None:
    warm = python(
        daemon,
        """
import duckrow, json, sys

def look(x):
    return "colorsys" in sys.modules

duckrow.sweep(look, {"x": range(2)}, preload=["colorsys"]).wait()
import time
while True:
    job, = duckrow.sweep(look, {"x": [time.time()]}, preload=["colorsys"]).wait().jobs
    if job.result():
        break
print(json.dumps(job.result()))
""",
    )
    assert warm is True


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("duckrow.sweep('f {x}', {'y': [1]})", "no parameter is called x"),
        ("duckrow.sweep('f {x}', {'x': []})", "has no value"),
        ("duckrow.sweep(7, {'x': [1]})", "7 cannot be swept"),
        ("duckrow.sweep('f {x}', {'x': [1]}, mode='all')", "all"),
        ("duckrow.sweep('f {x}', {'x': [1]}, gpu=1)", "There is no option gpu=. Did you mean gpus?"),
    ],
)
def test_a_wrong_sweep_is_refused_with_a_sentence(duckrow: Duckrow, call: str, said: str) -> None:
    tells = "print(json.dumps(str(error)))"
    told = python(duckrow, f"import duckrow, json\ntry: {call}\nexcept duckrow.UsageError as error: {tells}\n")
    assert said in told
    assert not (duckrow.work / "duckrow-runs").exists()
