"""The metrics of one job over time, those that others report for it, and which rows of results are shown."""

from __future__ import annotations

import math

import pytest

from duckrow.api.results import metric_curves
from duckrow.api.results.choice import Choice, choose
from duckrow.api.results.metric_curves import curve_of_metric, curves_of_job, metrics_of
from duckrow.api.results.results import results
from duckrow.api.results.run_metrics import report_for
from duckrow.core.errors import ConflictError, DuckrowError, UsageError
from tests.api.quiet_queue import QuietQueue


def test_each_metric_of_a_job_is_a_curve_with_its_last_value(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = queue.add()
    queue.report(job, {"epoch": 5, "loss": 2.0, "note": "warm"}, {"epoch": 6, "loss": None}, {"epoch": 7, "loss": 1.0})
    told = {item["metric"]: item for item in curves_of_job(queue.client, job, 100)["items"]}
    assert told["loss"] == {"metric": "loss", "last": 1.0, "points": [(5, 2.0), (7, 1.0)]}
    assert told["epoch"]["points"] == [(0, 5), (1, 6), (2, 7)], "the step is not drawn over itself"
    assert (told["note"]["last"], told["note"]["points"]) == ("warm", [])
    assert metrics_of(queue.client, queue.client.job(job).as_json())["loss"] == 1.0
    monkeypatch.setattr(metric_curves, "_MOST_METRICS", 1)
    assert curves_of_job(queue.client, job, 100)["truncated"] is True


def test_a_step_that_is_no_number_is_not_taken(queue: QuietQueue) -> None:
    (job,) = queue.add()
    queue.report(job, {"step": math.inf, "epoch": 3, "loss": 2.0}, {"step": "x", "loss": 1.0})
    assert curve_of_metric(str(queue.run_folder(job)), "loss", 10) == [(3, 2.0), (1, 1.0)]


@pytest.mark.parametrize(("most", "steps"), [(10, [0, 1, 2, 3, 4]), (3, [0, 2, 4]), (2, [0, 3, 4]), (1, [0, 4])])
def test_of_many_points_some_are_shown_and_always_the_last(queue: QuietQueue, most: int, steps: list[int]) -> None:
    (job,) = queue.add()
    queue.report(job, *({"step": step, "loss": 1.0} for step in range(5)))
    assert [step for step, _ in curve_of_metric(str(queue.run_folder(job)), "loss", most)] == steps


def test_metrics_are_reported_for_a_job_that_runs(queue: QuietQueue) -> None:
    (job,) = queue.add()
    with pytest.raises(ConflictError, match=r"Job 1 has no folder yet: it has not started\."):
        report_for(queue.client, job, {"loss": 1})
    folder = queue.run_folder(job)
    report_for(queue.client, job, {"loss": 0.5, "ok": True})
    assert metrics_of(queue.client, queue.client.job(job).as_json()) == {"loss": 0.5, "ok": True}
    with pytest.raises(UsageError, match="Say what to report"):
        report_for(queue.client, job, {})
    for wrong in ({" ": 1}, {"loss": [1]}):
        with pytest.raises(UsageError, match="is not a metric"):
            report_for(queue.client, job, wrong)
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").mkdir()
    with pytest.raises(DuckrowError, match=r"could not be written to .* Is the disk full\?"):
        report_for(queue.client, job, {"loss": 1})


def test_rows_and_columns_are_chosen(queue: QuietQueue) -> None:
    queue.sweep("rates", *({"lr": lr, "seed": seed} for lr in (1, 2) for seed in (0, 1)))
    for job, loss in enumerate((4.0, 3.0, 2.0, 5.0), start=1):
        queue.report(job, {"loss": loss})
        queue.done(job)
    everything = results("rates", client=queue.client)

    def ids(choice: Choice) -> list[int]:
        return [row["id"] for row in choose(everything, choice)[0]]

    assert ids(Choice(where=("lr=2",))) == [3, 4]
    assert ids(Choice(best="loss")) == [3]
    assert ids(Choice(best="loss", highest=True)) == [4]
    assert ids(Choice(best="loss", per="lr")) == [3, 2]
    assert ids(Choice(sort="loss")) == [3, 2, 1, 4]
    assert choose(everything, Choice(columns="lr, loss"))[1] == ["lr", "loss"]
    with pytest.raises(UsageError, match="need `best`"):
        ids(Choice(highest=True))
