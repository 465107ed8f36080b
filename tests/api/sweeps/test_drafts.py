"""A sweep before it starts, as the page asks for it; and what the page shows of one that has run."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.api.sweeps.details import metric_series, runs_to_repeat, sweep_details, sweep_list
from duckrow.api.sweeps.drafts import begin_sweep, preview_sweep
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import UsageError
from tests.api.quiet_queue import QuietQueue


def wish(pattern: str = "train {lr}", parameters: Any = None, **fields: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "mode": None,
        "n_samples": None,
        "seed": 0,
        "root": None,
        "snapshot": False,
        "options": {},
    }
    return {
        "pattern": pattern,
        "parameters": {"lr": "0.1 0.2"} if parameters is None else parameters,
        **defaults,
        **fields,
    }


def test_every_point_is_previewed_with_its_command() -> None:
    told = preview_sweep(wish(parameters=[{"lr": "0.1 0.2"}, {"lr": [3], "seed": [1]}]))
    assert [point["command"] for point in told["points"]] == ["train 0.1", "train 0.2", "train 3"]
    assert told["points"][0]["parameters"] == {"lr": 0.1}
    assert (told["total"], told["problems"]) == (3, [])
    assert "seed" in told["notes"][0]


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (wish(" "), "There is no command. Write one with {name} in it for each parameter."),
        (wish(parameters={}), "The command has the placeholder {lr}, but there is no value for it."),
        (wish(parameters={"lr": "'open"}), "The values of 'lr' cannot be read: no closing quotation."),
        (wish(parameters={"lr": "1..10001"}), "10001 runs are too many for one request: at most 10000."),
        (wish(options={"gpus": "many"}), "gpus"),
    ],
)
def test_what_is_wrong_is_told_instead(wanted: dict[str, Any], problem: str) -> None:
    told = preview_sweep(wanted)
    assert (told["total"], told["points"]) == (0, [])
    assert problem in told["problems"][0]


def test_a_sweep_is_begun_and_the_same_one_again_goes_on(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    queue.up()
    begun = begin_sweep(wish(options={"name": "rates", "cwd": str(queue.work)}))
    assert (begun["name"], begun["ids"], begun["summary"]) == ("rates", [1, 2], "2 new")
    again = begin_sweep(wish(parameters={"lr": "0.2 0.3"}, options={"name": "rates", "cwd": str(queue.work)}))
    assert (again["sweep"], again["ids"]) == (begun["sweep"], [2, 3])
    assert again["summary"] == "1 new, 1 already running or queued"


# -- for its page ----------------------------------------------------------------------------------------------------


@pytest.fixture
def worked(queue: QuietQueue) -> QuietQueue:
    """Four runs: one has succeeded, two failed with the same error, one waits."""
    queue.sweep("rates", *({"lr": lr, "model": "a"} for lr in (0.1, 0.2, 0.3, 0.4)))
    queue.report(1, {"step": 1, "loss": 3.0}, {"step": 2, "loss": 2.0}, {"loss": 1.0})
    queue.done(1)
    for job in (2, 3):
        queue.done(job, "failed", f"step {job}\nValueError: no\n", exit_code=1)
    return queue


def test_the_list_of_sweeps_counts_their_runs(worked: QuietQueue) -> None:
    worked.sweep("later", {"x": 1})
    later, rates = sweep_list(worked.client)["items"]
    assert (later["name"], rates["name"]) == ("later", "rates")
    assert (rates["total"], rates["counts"]) == (4, {"succeeded": 1, "failed": 2, "queued": 1})


def test_a_sweep_shows_its_runs_with_what_varies_first(worked: QuietQueue) -> None:
    told = sweep_details(worked.client, "rates")
    assert (told["varying"], told["parameters"], told["metrics"]) == (["lr"], ["lr", "model"], ["loss", "step"])
    assert told["counts"] == {"succeeded": 1, "failed": 2, "queued": 1}
    first, second, *_, last = told["rows"]
    assert (first["state"], first["outcome"], first["metrics"]["loss"]) == ("done", "succeeded", 1.0)
    assert (second["exit_code"], second["parameters"]) == (1, {"lr": 0.2, "model": "a"})
    assert (last["state"], last["outcome"]) == ("queued", None)
    assert told["failures"] == [{"text": "ValueError: no", "count": 2, "ids": [2, 3]}]
    assert told["truncated"] is False


def test_a_metric_is_a_curve_by_step_or_by_the_number_of_the_report(worked: QuietQueue) -> None:
    told = metric_series(worked.client, "rates", "loss", 10)
    assert told["series"] == [{"job": 1, "name": "run-0", "points": [(1, 3.0), (2, 2.0), (2, 1.0)]}]


def test_those_that_did_not_succeed_are_repeated_or_those_that_were_chosen(worked: QuietQueue) -> None:
    assert runs_to_repeat(worked.client, "rates", None, None) == [2, 3]
    assert runs_to_repeat(worked.client, "rates", None, "ValueError: no") == [2, 3]
    assert runs_to_repeat(worked.client, "rates", [4, 1], None) == [4, 1]
    with pytest.raises(UsageError, match=r"Job 9 is not part of the sweep 'rates'\."):
        runs_to_repeat(worked.client, "rates", [1, 9], None)
    with pytest.raises(UsageError, match=r"No run of the sweep failed with this error \(any more\)\."):
        runs_to_repeat(worked.client, "rates", None, "KeyError")
