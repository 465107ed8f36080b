"""How commands name jobs: Python functions as the call, jobs of an array with their index."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.conftest import Duckrow
from tests.system.test_transcripts import said

CALLS = """
import duckrow

def train(lr, seed=0, data=None):
    raise SystemExit(3 if seed else 0)

def main():
    a = duckrow.submit(train, 0.1, kwargs={"seed": 3, "data": list(range(10_000))}, gpus=0)
    with duckrow.Executor(gpus=0) as executor:
        b = executor.submit(train, lr=0.5)
    sweep = duckrow.sweep(train, {"lr": [0.25]}, gpus=0).wait()
    try:
        a.result()
    except duckrow.JobFailed:
        pass

if __name__ == "__main__":
    main()
"""


def test_a_function_is_shown_as_its_call(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    (duckrow.work / "calls.py").write_text(CALLS)
    subprocess.run([sys.executable, "calls.py"], cwd=duckrow.work, env=duckrow.env, check=True)
    calls = ["train(0.1, seed=3, data=list of 10000)", "train(lr=0.5)", "train(lr=0.25)"]
    assert [job["title"] for job in json.loads(duckrow("ls", "--all", "--json").stdout)] == calls
    listed = duckrow("ls", "--all").stdout
    assert [line for line in calls if line in listed] == calls
    assert "duckrow.api.call" not in listed
    shown = duckrow("show", "1").stdout
    assert f"call       {calls[0]}" in shown
    command = next(line for line in shown.splitlines() if line.startswith("  command "))
    assert " -m duckrow.api.call /" in command  # what is really run, for whoever looks for it
    assert "#" not in command
    assert said(duckrow, "wait", "1")[1] == f"duckrow: job 1 failed: {calls[0]}\n"
