"""`duckrow report` and `duckrow results`: what runs report, and the table of a sweep."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.api.results.metrics import FILE_NAME, VARIABLE, note_metrics
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.store.sweeps import SweepStore
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.test_docs import DOCS, rows_of


def sweep(
    duckrow: DryDuckrow, name: str, points: list[tuple[dict[str, Any], str]], pattern: str = "train {lr}"
) -> list[Path]:
    """A sweep by way of the store; the folders of its runs."""
    root = f"{duckrow.work}/duckrow-runs"
    specs, folders = [], []
    with Client() as client:
        with client.database.transaction():
            number = SweepStore(client.database).add("default", name, root, pattern)
        for index, (parameters, command) in enumerate(points):
            folder = f"{root}/default/{name}/{index}"
            os.makedirs(folder)
            folders.append(Path(folder))
            point = PointOfSweep(number, json.dumps(parameters), json.dumps(parameters))
            specs.append(JobSpec(command, str(duckrow.work), name=f"run-{index}", folder=folder, point=point))
        submit_jobs(client, specs)
    duckrow.settle()
    return folders


def said(duckrow: DryDuckrow, *words: str, **options: Any) -> tuple[str, str, int]:
    done = duckrow(*words, ok=False, **options)
    return done.stdout, done.stderr, done.returncode


@pytest.fixture
def worked(duckrow: DryDuckrow) -> DryDuckrow:
    """Five runs, each of which reports in a way of its own; the last two fail alike."""
    duckrow.up("--slots", "2")
    points = [
        ({"lr": 0.1, "model": "a", "data": "mnist"}, "true"),
        ({"lr": 0.01, "model": "a", "data": "mnist"}, "true"),
        ({"lr": 0.1, "model": "b", "data": "mnist"}, "true"),
        ({"lr": 0.01, "model": "b", "data": "mnist"}, "echo begin; echo CUDA error 7; exit 1"),
        ({"lr": 0.001, "model": "b", "data": "mnist"}, "echo CUDA error 8; exit 1"),
    ]
    folders = sweep(duckrow, "demo", points, "train --lr {lr} --model {model} --data {data}")
    files = [str(folder / FILE_NAME) for folder in folders]
    for loss, step in ((0.5, 1), (0.25, 2)):
        note_metrics(files[0], {"loss": loss, "step": step})
    duckrow("report", "loss=0.125", "step=3", 'note=so, "so"', env={VARIABLE: files[1]})
    Path(files[2]).write_text('{"loss": NaN, "step": 4}\n')
    duckrow("wait", "1-5", ok=False)
    return duckrow


# -- report ---------------------------------------------------------------------------------------------------------


def test_report_writes_numbers_words_and_truths(duckrow: DryDuckrow) -> None:
    file = duckrow.work / "metrics.jsonl"
    words = ("loss=-0.3", "step=10", "rate=1e-3", "ok=True", "note=a=b c", "bad=nan", "empty=")
    assert said(duckrow, "report", *words, env={"DUCKROW_METRICS": str(file)}) == ("", "", 0)
    line = json.loads(file.read_text())
    assert line.pop("_time") > 1e9
    assert line == {
        "loss": -0.3, "step": 10, "rate": 0.001, "ok": True, "note": "a=b c", "bad": "NaN", "empty": "",
    }  # fmt: skip


@pytest.mark.parametrize("word", ["loss", "=3", " =3", ""])
def test_report_says_what_is_no_metric(duckrow: DryDuckrow, word: str) -> None:
    file = duckrow.work / "metrics.jsonl"
    assert said(duckrow, "report", "step=1", word, env={"DUCKROW_METRICS": str(file)}) == (
        "",
        f"duckrow: '{word}' is not a metric. Write NAME=VALUE: duckrow report loss=0.3 step=10.\n",
        2,
    )
    assert not file.exists()


def test_report_without_metrics_or_outside_a_run_says_so(duckrow: DryDuckrow) -> None:
    assert said(duckrow, "report") == ("", "duckrow: Say what to report: duckrow report loss=0.3 step=10.\n", 2)
    assert said(duckrow, "report", "loss=1") == (
        "",
        "duckrow: This is not a duckrow job (DUCKROW_METRICS is not set), so there is nowhere to report to. "
        "Use it in jobs of `duckrow run`, `submit` and `sweep`.\n",
        2,
    )
    out, err, code = said(duckrow, "report", "loss=1", env={"DUCKROW_METRICS": "/dev/full"})
    assert (out, code) == ("", 1)
    assert err.startswith("duckrow: The metrics could not be written to /dev/full.")


def test_the_command_that_is_named_runs_just_the_failed_ones_again(worked: DryDuckrow) -> None:
    worked.submit("--wait", "true")
    named = "4 (run-3, failed), 5 (run-4, failed)"
    back = f"duckrow: 2 jobs are back in the queue: {named}.\n"
    assert said(worked, "rerun", "--failed", "--sweep", "demo") == ("", back, 0)
    worked("wait", "1-6", ok=False)
    assert [worked.job(job_id)["attempts"] for job_id in range(1, 7)] == [1, 1, 1, 2, 2, 1]
    assert said(worked, "rerun", "--sweep", "demo", "4") == (
        "",
        "duckrow: --sweep goes with --failed: duckrow rerun --failed --sweep NAME.\n",
        2,
    )
    assert said(worked, "rerun", "--failed", "--sweep", "dmo")[1:] == (
        "duckrow: There is no sweep 'dmo'. Did you mean 'demo'? Choose from: demo.\n",
        2,
    )


def ids(duckrow: DryDuckrow, *words: str) -> list[int]:
    return [row["id"] for row in json.loads(duckrow("results", "demo", "--json", *words).stdout)]


def test_sorting_filtering_and_the_best(worked: DryDuckrow) -> None:
    assert ids(worked, "--sort", "loss") == [2, 1, 3, 4, 5]
    assert ids(worked, "--sort=-loss") == [1, 2, 3, 4, 5]
    assert ids(worked, "--filter", "lr=0.1") == [1, 3]
    assert ids(worked, "-f", "lr<=0.01", "-f", "state!=failed") == [2]
    assert ids(worked, "-f", "model~[ab]") == []  # only * and ? are wild
    assert ids(worked, "-f", "note~so*") == [2]
    assert ids(worked, "-f", "loss=") == [4, 5]
    assert ids(worked, "--best", "loss") == [2]
    assert ids(worked, "--best", "loss", "--max") == [1]
    assert ids(worked, "--best", "step", "--per", "model", "--max") == [3, 2]
    assert ids(worked, "--best", "step", "--per", "model,lr", "--sort", "id") == [1, 2, 3]
    out, err, _ = said(worked, "results", "--best", "loss", "-c", "lr, loss,time")
    assert out.split()[:5] == ["lr", "loss", "TIME", "0.01", "0.125"]
    assert "5 runs: 3 succeeded, 2 failed. 1 shown.\n" in err
    assert said(worked, "results", "-f", "lr>5")[0] == ""
    assert "2 failed. None shown.\n" in said(worked, "results", "-f", "lr>5")[1]


# -- for programs ---------------------------------------------------------------------------------------------------


def test_json_is_flat_and_valid_also_for_what_is_not_a_number(worked: DryDuckrow) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    out, err, code = said(worked, "results", "demo", "--json")
    assert (err, code) == ("", 0)
    rows = json.loads(out, parse_constant=refuse)
    assert [row["loss"] for row in rows] == [0.25, 0.125, "NaN", None, None]
    folder = f"{worked.work}/duckrow-runs/default/demo/3"
    assert rows[3].pop("time_s") >= 0
    assert rows[3] == {
        "id": 4, "name": "run-3", "state": "failed", "lr": 0.01, "model": "b", "data": "mnist", "loss": None,
        "step": None, "note": None, "peak_memory_mb": None, "utilization": None, "gpu_seconds": 0, "attempts": 1,
        "exit_code": 1, "signal": None,
        "folder": folder, "log": f"{folder}/attempt-1.log",
    }  # fmt: skip
    assert json.loads(worked("results", "--json", "-c", "id,loss", "-f", "id=1").stdout) == [{"id": 1, "loss": 0.25}]


def test_csv_is_right_for_commas_quotes_and_newlines(duckrow: DryDuckrow) -> None:
    value = 'a,b "c"\nd; é\t'
    sweep(duckrow, "demo", [({"text, too": value, "n": [1, 2], "yes": True, "none": None}, "true")])
    out, err, code = said(duckrow, "results", "--csv", "-c", "id,text, too,n,yes,none")
    assert (out, code) == ("", 2)  # a comma in a name: --columns cannot tell
    out, err, code = said(duckrow, "results", "--csv")
    assert (err, code) == ("", 0)
    (row,) = csv.DictReader(io.StringIO(out, newline=""))
    assert (row["id"], row["text, too"], row["n"], row["yes"], row["none"]) == ("1", value, "[1, 2]", "true", "")


def test_csv_has_all_columns_and_whole_numbers(worked: DryDuckrow) -> None:
    rows = list(csv.DictReader(io.StringIO(worked("results", "--csv").stdout)))
    assert [row["loss"] for row in rows] == ["0.25", "0.125", "NaN", "", ""]
    assert rows[1]["note"] == 'so, "so"'
    assert list(rows[0])[:3] == ["id", "name", "state"]
    assert list(rows[0])[-1] == "log"
    assert worked("results", "--csv", "-c", "id,lr", "-f", "id<3").stdout == "id,lr\n1,0.1\n2,0.01\n"


def test_every_field_that_is_printed_is_explained(worked: DryDuckrow) -> None:
    text = (DOCS / "json.md").read_text()
    row = json.loads(worked("results", "--json").stdout)[0]
    assert set(row) - {"lr", "model", "data", "loss", "step", "note"} == rows_of(text, "A result")
    assert set(json.loads(worked("results", "--list", "--json").stdout)[0]) == rows_of(text, "A sweep")


# -- which sweeps there are -----------------------------------------------------------------------------------------


def test_no_sweep_yet_says_how_to_begin_one(duckrow: DryDuckrow) -> None:
    begin = "No sweep yet. Start one: duckrow sweep 'python train.py --lr {lr}' -p lr 0.1 0.01 --submit\n"
    assert said(duckrow, "results") == ("", begin, 0)
    assert said(duckrow, "results", "--list") == ("", begin, 0)
    assert said(duckrow, "results", "--json") == ("[]\n", begin, 0)
    assert said(duckrow, "results", "--list", "--json") == ("[]\n", "", 0)
    out, err, code = said(duckrow, "results", "demo")
    assert (out, code) == ("", 2)
    assert err.startswith("duckrow: There is no sweep 'demo', and no other yet. Start one:")


def test_the_list_of_sweeps(worked: DryDuckrow) -> None:
    worked("pause")
    sweep(worked, "later", [({"lr": 1}, "true"), ({"lr": 2}, "true")])
    out, err, code = said(worked, "results", "--list")
    assert (err, code) == ("", 0)
    header, first, second = [line.split() for line in out.splitlines()]
    assert header == "ID NAME PROJECT RUNS SUCCEEDED FAILED RUNNING WAITING WHEN PATTERN".split()
    assert first[:8] == "1 demo default 5 3 2 0 0".split()
    assert second[:8] == "2 later default 2 0 0 0 2".split()
    assert out.rstrip().endswith("train {lr}")
    listed = json.loads(worked("results", "--list", "--json").stdout)
    assert listed[1].pop("created_at") > 1e9
    assert listed[1] == {
        "id": 2, "name": "later", "project": "default", "runs": 2, "succeeded": 0, "failed": 0, "running": 0,
        "waiting": 2, "pattern": "train {lr}", "folder": f"{worked.work}/duckrow-runs/default/later",
    }  # fmt: skip
    assert [row["name"] for row in csv.DictReader(io.StringIO(worked("results", "--list", "--csv").stdout))] == [
        "demo",
        "later",
    ]
    assert "2 runs: 2 queued.\n" in said(worked, "results")[1]


def test_names_and_values_cannot_play_tricks_with_the_terminal(duckrow: DryDuckrow) -> None:
    sweep(duckrow, "demo", [({"a\x1b[2J\n": number, "b": "\x1b[31mred\n"}, "true") for number in (1, 2)])
    out, err, _ = said(duckrow, "results")
    assert "\x1b" not in out + err
    assert len(out.splitlines()) == 3


def test_a_sweep_without_runs_says_so(duckrow: DryDuckrow) -> None:
    sweep(duckrow, "empty", [])
    assert said(duckrow, "results") == ("", "empty: train {lr}\nIt has no runs.\n", 0)
    assert said(duckrow, "results", "--json") == ("[]\n", "", 0)


# -- elsewhere ------------------------------------------------------------------------------------------------------


def test_ls_and_show_know_the_sweep_of_a_job(worked: DryDuckrow) -> None:
    worked.submit("--wait", "true")
    assert worked("ls", "--sweep", "demo", "-c", "id,sweep").stdout.split() == [
        "ID", "SWEEP", "1", "demo", "2", "demo", "3", "demo", "4", "demo", "5", "demo",
    ]  # fmt: skip
    assert worked("ls", "-c", "sweep", "6").stdout == "SWEEP\n\n"
    assert said(worked, "ls", "--sweep", "x")[1:] == ("duckrow: There is no sweep 'x'. Choose from: demo.\n", 2)
    shown = worked("show", "4").stdout
    assert "  sweep      demo\n" in shown
    assert "  parameters lr=0.01 model=b data=mnist\n" in shown
    assert f"  run folder {worked.work}/duckrow-runs/default/demo/3\n" in shown
    assert "sweep" not in worked("show", "6").stdout
