"""The handle of a job in Python: what it tells, what its result is, what is raised instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import duckrow
from duckrow.api import call
from duckrow.api.calls.functions import Call, JobFailed, store_call
from duckrow.api.client import Client
from duckrow.api.python.handles import Job, NotDoneInTime, job
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import NotFoundError, UsageError
from duckrow.core.life.wishes import Wish
from tests.api.quiet_queue import QuietQueue


@pytest.fixture
def slots(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> QuietQueue:
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)  # nobody is there to fulfil them
    queue.offers(cpu_seats(1))
    queue.up()
    return queue


def handle(queue: QuietQueue, command: str = "true") -> Job[object]:
    return job(*queue.add("train", command=command))


def test_a_handle_tells_how_it_stands_with_its_job(slots: QuietQueue) -> None:
    one = handle(slots)
    assert (one.state, one.outcome, one.done(), one.log_path, one.logs()) == ("queued", None, False, None, "")
    assert repr(one) == "<duckrow.Job 1 train: queued>"
    assert one.folder == slots.folder.run_folder("default", "train", 1)
    slots.done(1, log="a\n\nb\nc\n")
    assert (one.state, one.outcome, one.exit_code, one.done()) == ("done", "succeeded", 0, True)
    assert one.logs() == "a\n\nb\nc\n"
    assert (one.logs(tail=2), one.logs(tail=0)) == ("b\nc\n", "")
    assert one.wait() is one
    assert one.result() == 0


def test_a_job_that_is_gone_or_never_was_is_told(slots: QuietQueue) -> None:
    one = handle(slots)
    slots.client.jobs.database.execute("DELETE FROM jobs")
    assert repr(one) == "<duckrow.Job 1 train: gone>"
    with pytest.raises(UsageError, match=r"There is no job 1 any more: it was removed\."):
        one.view()
    with pytest.raises(NotFoundError):
        job(9)
    for wrong in (True, "1"):
        with pytest.raises(UsageError, match="is not the id of a job, which is a number"):
            job(wrong)  # type: ignore[arg-type]


def test_who_waits_in_vain_is_told_in_time(slots: QuietQueue) -> None:
    with pytest.raises(NotDoneInTime, match=r"Job 1 \(train\) was not done within 0 s\."):
        handle(slots).result(timeout=0)
    with pytest.raises(TimeoutError):
        job(1).wait(timeout=0)


@pytest.mark.parametrize(
    ("outcome", "exit_code", "signal", "detail", "log", "told"),
    [
        ("failed", 3, None, "", "", "Job 1 (train) failed with exit code 3."),
        ("killed", None, 15, "", "", "Job 1 (train) was killed by SIGTERM."),
        ("killed", None, 99, "", "", "Job 1 (train) was killed by signal 99."),
        ("lost", None, None, "the machine was restarted", "", "Job 1 (train) was lost (the machine was restarted)."),
        ("timed-out", None, 9, "", "", "Job 1 (train) timed out, ended by SIGKILL."),
        (
            "out-of-memory",
            1,
            None,
            "",
            "x\ny\n",
            "Job 1 (train) ran out of memory with exit code 1. The end of its log:\n    x\n    y",
        ),
    ],
)
def test_a_job_that_did_not_succeed_raises_how_it_ended(
    slots: QuietQueue, outcome: str, exit_code: int | None, signal: int | None, detail: str, log: str, told: str
) -> None:
    one = handle(slots)
    slots.done(1, outcome, log, exit_code=exit_code)
    slots.write("UPDATE attempts SET signal = ?", signal)
    slots.write("UPDATE jobs SET detail = ?", detail)
    with pytest.raises(JobFailed) as failed:
        one.result()
    assert str(failed.value) == told
    assert failed.value.view is not None
    assert failed.value.view.outcome == outcome


def test_the_result_of_a_function_is_its_value_or_what_it_raised(slots: QuietQueue, tmp_path: Path) -> None:
    for number, divisor in ((1, 5), (2, 0)):
        folder = str(tmp_path / str(number))
        command = store_call(Call(divmod, (17, divisor), {}, "divmod"), folder)
        slots.add("divmod", command=command, folder=folder)
        slots.start(number)
        slots.end(number, "failed" if call.main(folder) else "succeeded")
    assert job(1).result() == (3, 2)
    with pytest.raises(ZeroDivisionError):
        job(2).result()


def test_a_job_is_killed_once_and_one_that_is_done_is_left_alone(slots: QuietQueue) -> None:
    one, other = handle(slots), handle(slots)
    slots.done(2)
    other.kill()
    one.kill(wait=False, now=True)
    assert [tuple(row) for row in slots.client.database.all("SELECT job_id, wish FROM wishes")] == [(1, Wish.KILL_NOW)]


# -- submitting ------------------------------------------------------------------------------------------------------


def test_commands_words_and_functions_are_submitted(slots: QuietQueue) -> None:
    jobs = [
        duckrow.submit("echo a | cat", name="piped"),
        duckrow.submit(["echo", "a b"], priority=7),
        duckrow.submit(divmod, 17, 5, project="maths"),
    ]
    views = slots.client.views([one.id for one in jobs])
    assert [view.name for view in views] == ["piped", "echo", "divmod"]
    assert [view.command for view in views[:2]] == ["echo a | cat", "echo 'a b'"]
    assert (views[1].priority, views[2].project) == (7, "maths")
    assert Path(str(views[2].folder), "call.pkl").exists()


def _tuned(lr: float, name: str = "") -> None:
    pass


@pytest.mark.parametrize(
    ("args", "named", "told"),
    [
        (("true", 1), {}, "Arguments are for functions."),
        ((7,), {}, "7 cannot be a job. Submit a string, a list of words, or a function."),
        ((_tuned, 1), {"kwargs": 3}, "kwargs=3 must be a dict with the arguments of "),
        ((_tuned, 1), {"name": "x"}, "name= is an option of the job, and "),
        ((_tuned,), {"lr": 1, "kwargs": {"lr": 2}}, "'lr' is given twice, by itself and in kwargs."),
    ],
)
def test_what_cannot_be_meant_is_refused(
    slots: QuietQueue, args: tuple[object, ...], named: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        duckrow.submit(*args, **named)  # type: ignore[call-overload]
    assert str(refused.value).startswith(told)
    assert slots.client.database.one("SELECT count(*) FROM jobs") == 0


def test_an_argument_that_is_named_like_an_option_goes_into_kwargs(slots: QuietQueue) -> None:
    assert duckrow.submit(_tuned, 1, name="job", kwargs={"name": "argument"}).name == "job"


def test_a_call_that_is_refused_leaves_no_folder(slots: QuietQueue) -> None:
    with pytest.raises(UsageError, match="can never start"):
        duckrow.submit(divmod, 17, 5, gpus=2)
    assert list(Path(slots.folder.runs).glob("*/*/call-*")) == []


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"gpus": 9}, "only 1 CPU slot. Omit gpus=. Nothing was submitted."),
        ({"gpu_mem": "4G"}, "there is no GPU here. Omit gpu_mem=. Nothing was submitted."),
        ({"total_gpu_mem": "4G", "gpus": 1}, "Omit gpus=, or use gpu_mem=."),
        ({"mem_limit": True}, "mem_limit= needs mem=, the most that the job may use, such as 16G."),
    ],
)
def test_a_sentence_names_the_argument_that_was_written(slots: QuietQueue, named: dict[str, Any], told: str) -> None:
    for refused in (
        lambda: duckrow.submit("true", **named),
        lambda: duckrow.submit(divmod, 17, 5, **named),
        lambda: duckrow.sweep("echo {x}", {"x": [1]}, root=slots.work / "runs", **named),
    ):
        with pytest.raises(UsageError) as caught:
            refused()
        assert str(caught.value).endswith(told)


def test_a_function_is_swept_and_runs_again_once_it_was_edited(slots: QuietQueue) -> None:
    grid = {"lr": [1, 2]}
    first = duckrow.sweep(_tuned, grid, root=slots.work / "runs", cpus=1)
    assert (first.name, first.summary, len(first.jobs)) == ("_tuned", "2 new", 2)
    assert repr(first) == f"<duckrow.Sweep {first.id} {first.name}: 2 runs (2 new)>"
    for one in first.jobs:
        assert call.main(one.folder) == 0
        slots.start(one.id)
        slots.end(one.id)
    assert first.wait() is first
    assert [row["lr"] for row in first.results()] == [1, 2]
    again = duckrow.sweep(_tuned, grid, root=slots.work / "runs", cpus=1)
    assert again.summary == "2 skipped (succeeded before)"
    with pytest.raises(UsageError, match="cannot be swept"):
        duckrow.sweep(3, grid)  # type: ignore[arg-type]
