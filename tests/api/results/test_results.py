"""The results of a sweep, from the database and the folders of its runs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.queue.listing import listing, tally
from duckrow.api.results.results import Results, results
from duckrow.api.sweeps.listing import NoSweepYet, find_sweep, handle_of, list_sweeps
from duckrow.core.errors import DuckrowError, UsageError
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.core.jobs.job_filter import Filter
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sweeps import SweepStore


class Bench:
    """Sweeps made by hand: what the scheduler and the runs would have left."""

    def __init__(self, root: Path) -> None:
        (root / "state").mkdir()
        self.root = root / "runs"
        self.client = Client(Folder(str(root / "state")))

    def sweep(self, name: str, points: list[dict[str, Any]], project: str = "default") -> list[int]:
        pattern = "train " + " ".join(f"{{{name}}}" for name in (points[0] if points else {}))
        with self.client.database.transaction():
            sweep_id = SweepStore(self.client.database).add(project, name, str(self.root), pattern)
            specs = [
                JobSpec(
                    "train",
                    "/",
                    name=f"run-{number}",
                    project=project,
                    folder=str(self.root / project / name / str(number)),
                    point=PointOfSweep(sweep_id, json.dumps(point), json.dumps(point)),
                )
                for number, point in enumerate(points)
            ]
            ids = self.client.jobs.add(DAEMON, specs, {})
        return list(ids)

    def folder(self, job_id: int) -> Path:
        folder = Path(str(self.client.job(job_id).folder))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def report(self, job_id: int, **metrics: Any) -> None:
        with open(self.folder(job_id) / "metrics.jsonl", "a") as file:
            file.write(json.dumps(metrics) + "\n")

    def finish(
        self, job_id: int, outcome: str = "succeeded", log: str = "", exit_code: int | None = 0, took_s: float = 5.0
    ) -> None:
        path = self.folder(job_id) / "attempt-1.log"
        path.write_text(log)
        execute = self.client.database.execute
        execute("UPDATE jobs SET state = 'done', outcome = ?, attempts = 1 WHERE id = ?", (outcome, job_id))
        execute(
            "INSERT INTO attempts"
            " (job_id, number, host_id, keeper, holds, log, started_at, ended_at, outcome, exit_code)"
            " VALUES (?, 1, 1, '', '[[\"0\", 1000000]]', ?, 1000, ?, ?, ?)",
            (job_id, str(path) if log else "", 1000 + took_s, outcome, exit_code),
        )

    def results(self, sweep: str | int | None = None) -> Results:
        return results(sweep, client=self.client)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.client.close()


@pytest.fixture
def worked(bench: Bench) -> Bench:
    """Four runs: two succeeded, one failed, one waits."""
    bench.sweep("demo", [{"lr": lr, "model": model} for lr in (0.1, 0.01) for model in ("a", "b")])
    for job_id, loss in ((1, 0.5), (2, 0.25), (3, math.nan)):
        bench.report(job_id, loss=9.0, step=1)
        bench.report(job_id, loss=loss, step=2)
    bench.finish(1)
    bench.finish(2, took_s=7.5)
    bench.finish(3, "failed", "epoch 1\nValueError: lr 0.01 is bad\n", 1)
    return bench


# -- rows -----------------------------------------------------------------------------------------------------------


def test_each_run_is_a_row_of_parameters_metrics_and_how_it_went(worked: Bench) -> None:
    found = worked.results("demo")
    assert isinstance(found, list)
    assert found[1] == {
        "id": 2,
        "name": "run-1",
        "state": "succeeded",
        "lr": 0.1,
        "model": "b",
        "loss": 0.25,
        "step": 2,
        "time_s": 7.5,
        "peak_memory_mb": None,
        "utilization": None,
        "gpu_seconds": 7.5,
        "attempts": 1,
        "exit_code": 0,
        "signal": None,
        "folder": f"{worked.root}/default/demo/1",
        "log": "",
    }
    assert list(found[1]) == found.columns
    assert (found[3]["state"], found[3]["loss"], found[3]["time_s"], found[3]["log"]) == ("queued", None, None, None)
    assert (found.parameters, found.metrics, found.varying()) == (["lr", "model"], ["loss", "step"], ["lr", "model"])


def test_names_that_clash_are_told_apart(bench: Bench) -> None:
    bench.sweep("clash", [{"id": 7, "lr": 0.1, "log": "x"}])
    bench.report(1, lr=0.05, id=8, time_s=3, loss=1)
    (row,) = bench.results()
    assert (row["id"], row["param.id"], row["param.log"], row["log"]) == (1, 7, "x", None)
    assert (row["lr"], row["metric.lr"], row["metric.id"], row["metric.time_s"], row["loss"]) == (0.1, 0.05, 8, 3, 1)


def test_every_row_has_all_columns_also_where_the_runs_differ(bench: Bench) -> None:
    bench.sweep("united", [{"lr": 0.1}, {"momentum": 0.9}])
    bench.report(1, loss=1)
    bench.report(2, acc=2)
    found = bench.results()
    assert [(row["lr"], row["momentum"], row["loss"], row["acc"]) for row in found] == [
        (0.1, None, 1, None),
        (None, 0.9, None, 2),
    ]


def test_a_run_without_a_folder_of_its_own_reports_below_the_state_folder(bench: Bench) -> None:
    bench.sweep("demo", [{"lr": 1}])
    bench.client.database.execute("UPDATE jobs SET folder = NULL")
    folder = Path(bench.client.folder.run_folder("default", "run-0", 1))
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text('{"loss": 0.5}\n')
    assert bench.results()[0]["loss"] == 0.5


def test_however_many_runs_the_database_is_asked_a_few_times(bench: Bench) -> None:
    bench.sweep("many", [{"seed": seed} for seed in range(300)])
    statements: list[str] = []
    bench.client.database._connection.set_trace_callback(statements.append)
    assert len(bench.results("many")) == 300
    assert len(statements) < 10


# -- which sweep ----------------------------------------------------------------------------------------------------


def test_without_a_word_it_is_the_newest_sweep(worked: Bench) -> None:
    worked.sweep("later", [{"seed": 1}])
    assert worked.results().sweep.name == "later"
    assert worked.results("demo").sweep.name == "demo"
    assert worked.results(1).sweep.name == "demo"
    assert worked.results("2").sweep.name == "later"


def test_a_sweep_of_a_name_that_a_newer_one_has_is_named_by_its_project_or_id(worked: Bench) -> None:
    worked.sweep("demo", [{"seed": 1}], project="thesis")
    assert find_sweep(worked.client, "demo").project == "thesis"
    older = find_sweep(worked.client, "default/demo")
    assert older.id == 1
    assert handle_of(worked.client, older) == "1"
    assert worked.results("default/demo").handle == "1"
    assert worked.results("demo").handle == "demo"


def test_a_sweep_that_is_not_there_is_told_with_those_that_are(worked: Bench) -> None:
    worked.sweep("later", [{"seed": 1}])
    with pytest.raises(UsageError, match=r"no sweep 'dmeo'\. Did you mean 'demo'\? Choose from: later, demo\."):
        worked.results("dmeo")


def test_no_sweep_at_all_says_how_to_begin_one(bench: Bench) -> None:
    with pytest.raises(NoSweepYet, match=r"No sweep yet\. Start one: duckrow sweep"):
        bench.results()
    with pytest.raises(UsageError, match=r"no sweep 'demo', and no other yet\. Start one"):
        bench.results("demo")


def test_all_sweeps_are_listed_with_how_they_stand(worked: Bench) -> None:
    worked.sweep("later", [{"seed": seed} for seed in range(3)])
    worked.client.database.execute("UPDATE jobs SET state = 'running' WHERE id = 5")
    worked.finish(6, "skipped")
    demo, later = list_sweeps(worked.client)
    assert [demo[key] for key in ("id", "name", "project", "runs", "succeeded", "failed", "running", "waiting")] == [
        1, "demo", "default", 4, 2, 1, 0, 1,
    ]  # fmt: skip
    assert (later["runs"], later["succeeded"], later["failed"], later["running"], later["waiting"]) == (3, 0, 0, 1, 1)
    assert demo["pattern"] == "train {lr} {model}"
    assert demo["folder"] == f"{worked.root}/default/demo"


def test_jobs_can_be_listed_by_their_sweep(worked: Bench) -> None:
    worked.sweep("later", [{"seed": 1}])
    assert [view.id for view in listing(worked.client, Filter(sweep_id=1), sort="id")] == [1, 2, 3, 4]
    assert tally(worked.client, Filter(sweep_id=2)) == {"queued": 1}
    assert [view.sweep for view in listing(worked.client, Filter(), sort="-sweep")] == ["later", *["demo"] * 4]


# -- choosing -------------------------------------------------------------------------------------------------------


def test_rows_are_filtered_sorted_and_searched_for_the_best(worked: Bench) -> None:
    found = worked.results()
    assert [row["id"] for row in found.where("lr=0.1", "model~b*")] == [2]
    assert [row["id"] for row in found.where("time>6")] == [2]
    assert [row["id"] for row in found.sorted_by("loss")] == [2, 1, 3, 4]
    assert [row["id"] for row in found.sorted_by("-loss")] == [1, 2, 3, 4]
    assert [row["id"] for row in found.best("loss")] == [2]
    assert [row["id"] for row in found.best("loss", lowest=False)] == [1]
    assert [row["id"] for row in found.best("loss", per="model")] == [2, 1]
    assert [row["id"] for row in found.where("state=succeeded").best("time", per=["lr"])] == [1]


def test_the_best_of_a_metric_that_is_a_parameter_too_is_that_of_the_metric(bench: Bench) -> None:
    bench.sweep("demo", [{"lr": 0.1}, {"lr": 0.2}])
    bench.report(1, lr=5)
    bench.report(2, lr=4)
    assert bench.results().best("lr")[0]["id"] == 2


def test_wrong_words_are_told_with_the_right_ones(worked: Bench) -> None:
    found = worked.results()
    with pytest.raises(
        UsageError, match=r"no column 'modle'\. Did you mean 'model'\? Choose from: id, name, state, lr"
    ):
        found.where("modle=a")
    with pytest.raises(UsageError, match=r"No run of 'demo' has reported 'los'\. Did you mean 'loss'\? Reported: loss"):
        found.best("los")
    with pytest.raises(UsageError, match="no column 'x'"):
        found.best("loss", per="x")
    with pytest.raises(UsageError, match="is not a filter"):
        found.where("loss")


# -- failures -------------------------------------------------------------------------------------------------------


def test_failures_are_grouped_by_their_last_line(bench: Bench) -> None:
    bench.sweep("demo", [{"seed": seed} for seed in range(9)])
    for job_id in (1, 2, 3):
        bench.finish(job_id, "failed", f"Traceback\nRuntimeError: CUDA error {job_id}\n\n", 1)
    bench.finish(4, "failed", "FileNotFoundError: '/a/b'\n", 1)
    bench.finish(5, "timed-out", "epoch 7\n", None)
    bench.finish(6, "timed-out", "epoch 8 of 9, 3 s\n", None)
    bench.finish(7, "failed", "", 3)
    bench.finish(8, "skipped", "", None)
    found = bench.results()
    assert [(group.error, group.ids) for group in found.failures()] == [
        ("RuntimeError: CUDA error 1", [1, 2, 3]),
        ("timed-out", [5, 6]),
        ("FileNotFoundError: '/a/b'", [4]),
        ("(exit 3, no output)", [7]),
    ]
    assert found.failures_in_words() == (
        "7 of 9 failed: 3 x RuntimeError: CUDA error 1, 2 x timed-out, 1 x FileNotFoundError: '/a/b', "
        "1 x (exit 3, no output)"
    )


def test_only_the_most_frequent_errors_are_told(bench: Bench) -> None:
    words = "alpha beta gamma delta epsilon zeta eta".split()
    bench.sweep("demo", [{"seed": seed} for seed in range(7)])
    for job_id, word in enumerate(words, start=1):
        bench.finish(job_id, "failed", f"{word}\n", 1)
    assert bench.results().failures_in_words() == (
        "7 of 7 failed: 1 x alpha, 1 x beta, 1 x gamma, 1 x delta, 1 x epsilon, 2 with other errors"
    )


def test_no_failure_is_no_words(bench: Bench) -> None:
    bench.sweep("demo", [{"seed": 1}])
    assert bench.results().failures_in_words() == ""


# -- other forms ----------------------------------------------------------------------------------------------------


def test_without_pandas_a_frame_is_a_sentence(worked: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DuckrowError, match="pandas is not installed in this Python"):
        worked.results().frame()


def test_with_pandas_there_is_a_frame(worked: Bench) -> None:
    pytest.importorskip("pandas")
    frame = worked.results().frame()
    assert list(frame.columns) == worked.results().columns
    assert len(frame) == 4
    assert frame["loss"].min() == 0.25


def test_pandas_gets_the_rows_and_their_columns(worked: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        @staticmethod
        def DataFrame(rows: list[dict[str, Any]], columns: list[str]) -> tuple[int, list[str]]:
            return len(rows), columns

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    assert worked.results().frame() == (4, worked.results().columns)


def test_a_notebook_shows_a_small_table(worked: Bench) -> None:
    worked.report(1, note="<b>")
    text = worked.results().where("id<3")._repr_html_()
    assert text.count("<tr>") == 3
    assert "<th>id</th><th>model</th>" in text
    assert "<th>lr</th>" not in text  # both rows have the same
    assert "<td>&lt;b&gt;</td>" in text
    assert "<b>" not in text


def test_a_notebook_does_not_show_thousands_of_rows(bench: Bench) -> None:
    bench.sweep("demo", [{"seed": seed} for seed in range(60)])
    text = bench.results()._repr_html_()
    assert text.count("<tr>") == 51
    assert "and 10 more" in text
