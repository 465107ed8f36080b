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


def test_a_job_of_an_array_is_named_with_its_index_everywhere(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    duckrow("submit", "--name", "fit", "--array", "7-8", "--wait", "echo $DUCKROW_ARRAY_INDEX; exit 1", ok=False)
    assert [line.split()[:2] for line in duckrow("ls", "--all").stdout.splitlines()[1:]] == [
        ["1", "fit[7]"],
        ["2", "fit[8]"],
    ]
    shown = duckrow("show", "2").stdout
    assert shown.startswith("job 2  default/fit[8]  failed\n")
    assert "  array      index 8 of the array that begins with job 1\n" in shown
    assert said(duckrow, "why", "2")[0] == "job 2 (index 8): it is not waiting: it failed\n"
    assert duckrow("logs", "1-2").stdout == "[1 fit[7]] 7\n[2 fit[8]] 8\n"
    assert said(duckrow, "wait", "2")[1] == ("duckrow: job 2 (index 8) failed: echo $DUCKROW_ARRAY_INDEX; exit 1\n")
    assert said(duckrow, "kill", "2")[1].startswith("duckrow: job 2 (index 8) is already done.\n")
    assert said(duckrow, "pause", "2")[1] == "duckrow: job 2 (index 8) failed.\n"
    assert said(duckrow, "rerun", "--dry-run", "2")[1] == "duckrow: 1 job would run again: 2 (fit[8], failed).\n"
    assert [job["array_index"] for job in json.loads(duckrow("ls", "--all", "--json").stdout)] == [7, 8]
