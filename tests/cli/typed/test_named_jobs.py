"""How commands name jobs: Python functions as the call, jobs of an array with their index."""

from __future__ import annotations

import json

from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.cli.typed.shell import played


def said(duckrow: DryDuckrow, *words: str) -> tuple[str, str]:
    done = duckrow(*words, ok=False)
    return done.stdout, done.stderr


def test_a_job_of_an_array_is_named_with_its_index_everywhere(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "2")
    command = "echo $DUCKROW_ARRAY_INDEX; exit 1"
    duckrow.does(command, played("echo 7; exit 1"), played("echo 8; exit 1"))
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
    assert said(duckrow, "kill", "2")[1].startswith("duckrow: job 2 (index 8) is already done (failed).\n")
    assert said(duckrow, "pause", "2")[1] == "duckrow: job 2 (index 8) failed.\n"
    assert said(duckrow, "rerun", "--dry-run", "2")[1] == "duckrow: 1 job would run again: 2 (fit[8], failed).\n"
    assert [job["array_index"] for job in json.loads(duckrow("ls", "--all", "--json").stdout)] == [7, 8]
