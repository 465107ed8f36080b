"""Which points of a sweep already have a run, what has to be run, and where each run has its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.sweeps.sweeps import SweepRow, Sweeps, Todo
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.sweeps.sweep import Point, key_of
from duckrow.store.jobs.control import ControlStore
from tests.api.quiet_queue import QuietQueue

PATTERN = "train {lr}"
POINTS = [Point({"lr": lr}) for lr in ("0.1", "0.2", "0.3", "0.4")]


@pytest.fixture
def sweeps(queue: QuietQueue) -> Sweeps:
    queue.offers(cpu_seats(1))
    return Sweeps(queue.client)


@pytest.fixture
def root(queue: QuietQueue) -> str:
    return f"{queue.work}/runs"


def prepared(
    sweeps: Sweeps, row: SweepRow, points: Sequence[Point], snapshot: bool = False
) -> tuple[Todo, list[JobSpec]]:
    todo, cwd = sweeps.todo(row, points), str(Path(row.root).parent)
    specs = sweeps.prepare(row, todo, lambda point, _folder: JobSpec(f"train {point['lr']}", cwd), cwd, snapshot)
    return todo, specs


def submitted(sweeps: Sweeps, row: SweepRow, points: Sequence[Point]) -> list[int]:
    todo, specs = prepared(sweeps, row, points)
    return sweeps.submit(specs, todo)


# -- finding ---------------------------------------------------------------------------------------------------------


def test_the_same_pattern_in_the_same_place_is_the_same_sweep(sweeps: Sweeps, root: str) -> None:
    first = sweeps.open(PATTERN, "default", "", root)
    assert sweeps.open(PATTERN, "default", "", root) == first
    assert sweeps.begin(PATTERN, "default", "", root).id != first.id, "unless a new one is wanted"
    assert sweeps.open(PATTERN, "other", "", root).id != first.id
    assert [row.name for row in sweeps.at_root(root)] == ["train", "train-2", "train"]


def test_a_name_belongs_to_one_pattern(sweeps: Sweeps, root: str) -> None:
    named = sweeps.open(PATTERN, "default", "rates", root)
    assert sweeps.open(PATTERN, "default", "rates", root) == named
    with pytest.raises(UsageError, match=r"There is a sweep 'rates' of another command here: train \{lr\}\."):
        sweeps.open("eval {lr}", "default", "rates", root)


def test_the_last_sweep_of_a_place_is_resumed_or_the_one_that_is_named(sweeps: Sweeps, root: str) -> None:
    with pytest.raises(UsageError, match=r"There is no sweep below .* to resume"):
        sweeps.resumable("", None, root)
    first, second = (sweeps.open(f"{name} {{lr}}", "default", name, root) for name in ("one", "two"))
    assert sweeps.resumable("", None, root) == second
    assert sweeps.resumable("one", None, root) == first


# -- what to do ------------------------------------------------------------------------------------------------------


def test_what_has_succeeded_is_skipped_and_what_has_failed_runs_again(
    sweeps: Sweeps, queue: QuietQueue, root: str
) -> None:
    row = sweeps.open(PATTERN, "default", "", root)
    done, failed, busy = submitted(sweeps, row, POINTS[:3])
    queue.done(done)
    queue.done(failed, "failed", exit_code=1)
    queue.up()
    todo = sweeps.todo(row, POINTS)
    assert (todo.missing, todo.again, todo.busy, todo.stranded) == ([POINTS[3]], [failed], [busy], [])
    assert todo.count == 2
    assert todo.in_words() == (
        "1 new, 1 that did not succeed run again, 1 already running or queued, 1 skipped (succeeded before)"
    )
    assert todo.points[failed] == POINTS[1]
    assert sweeps.todo(row, None).missing == [], "without points, those that it has"


def test_queued_jobs_of_a_dead_host_are_stranded(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "", root)
    ids = submitted(sweeps, row, POINTS[:2])
    assert sweeps.todo(row, POINTS[:2]).stranded == ids
    assert sweeps.todo(row, POINTS[:2]).in_words() == "2 that had not started"
    assert sweeps.hosted_by_daemon(row)
    assert not sweeps.on_cluster(row)
    assert sweeps.cwd_of(row) == str(Path(root).parent)


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        ({1: ["fit"]}, "1 run again because fit was edited"),
        ({1: ["fit", "loss"]}, "1 run again because fit and loss were edited"),
        ({1: ["a", "b"], 2: ["c", "a"]}, "2 run again because a, b and c were edited"),
        ({1: ["a", "b", "c", "d"]}, "1 run again because a, b and others were edited"),
    ],
)
def test_what_was_edited_is_named(edited: dict[int, list[str]], told: str) -> None:
    assert Todo(again=list(edited), edited=edited).in_words() == told


def test_nothing_to_do_and_runs_of_the_old_function_are_said() -> None:
    assert Todo().in_words() == "nothing"
    assert Todo(busy=[1, 2], outdated=[2]).in_words() == "2 already running or queued (1 with the old function)"


# -- preparing -------------------------------------------------------------------------------------------------------


def test_each_run_gets_a_folder_with_its_parameters_and_its_code(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    _, specs = prepared(sweeps, row, POINTS[:2])
    assert [spec.folder for spec in specs] == [f"{root}/default/rates/lr={lr}" for lr in ("0.1", "0.2")]
    assert json.loads(Path(f"{specs[0].folder}/params.json").read_text()) == {"lr": 0.1}
    assert Path(f"{specs[0].folder}/code.json").exists()
    assert Path(f"{root}/.gitignore").read_text() == "*\n"
    assert specs[0].point is not None
    assert (specs[0].name, specs[0].point.sweep_id) == ("lr=0.1", row.id)
    assert specs[0].point.key == key_of(POINTS[0])


def test_a_folder_that_a_run_has_is_not_given_to_another(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    folder = Path(f"{root}/default/rates/lr=0.1")
    folder.mkdir(parents=True)
    assert prepared(sweeps, row, POINTS[:1])[1][0].folder == f"{folder}-2"
    assert prepared(sweeps, row, POINTS[:1])[1][0].folder == f"{folder}-2", "it was prepared, and never started"
    Path(f"{folder}-2/attempt-1.log").touch()
    assert prepared(sweeps, row, POINTS[:1])[1][0].folder == f"{folder}-3"


def test_with_nothing_to_do_nothing_is_made(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "", root)
    assert prepared(sweeps, row, [])[1] == []
    assert not os.path.exists(root)


@pytest.mark.parametrize("in_the_way", ["runs", "runs/default/rates/lr=0.1"])
def test_a_folder_that_cannot_be_made_is_told(sweeps: Sweeps, root: str, in_the_way: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    path = Path(root).parent / in_the_way
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/proc/nobody/here")
    if in_the_way == "runs":
        with pytest.raises(UsageError, match=r"cannot be created: .*\. Choose another with --root\."):
            prepared(sweeps, row, POINTS[:1])
    else:
        assert prepared(sweeps, row, POINTS[:1])[1][0].folder == f"{path}-2"


def test_runs_of_a_snapshot_start_in_the_copy_of_the_code(sweeps: Sweeps, queue: QuietQueue, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    failed, stranded = submitted(sweeps, row, POINTS[:2])
    queue.done(failed, "failed", exit_code=1)
    (queue.work / "train.py").write_text("new")
    _, (new,) = prepared(sweeps, row, POINTS[:3], snapshot=True)
    assert Path(f"{new.cwd}/train.py").read_text() == "new"
    assert {queue.client.job(job).cwd for job in (failed, stranded)} == {new.cwd}


def test_stranded_runs_are_the_daemons_and_failed_ones_are_put_back(
    sweeps: Sweeps, queue: QuietQueue, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)  # nobody is there to fulfil them
    row = sweeps.open(PATTERN, "default", "rates", root)
    run = queue.client.hosts.add_run("over", "/", "")
    first, second = submitted(sweeps, row, POINTS[:2])
    ControlStore(queue.client.database).rehost([first], run)
    queue.done(second, "failed", exit_code=1)
    todo, specs = prepared(sweeps, row, POINTS[:3])
    assert (todo.stranded, todo.again) == ([first], [second])
    ids = sweeps.submit(specs, todo)
    assert len(ids) == 3
    assert queue.client.jobs.owners([first])[first] == 1
    assert queue.client.database.all("SELECT job_id FROM wishes")[0][0] == second


def test_what_was_not_submitted_leaves_nothing_behind(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    _, specs = prepared(sweeps, row, POINTS)
    sweeps.take_back(row, specs)
    assert not os.path.exists(root)
    assert sweeps.at_root(root) == []
    assert not sweeps.forget_empty(row)


def test_files_of_the_user_stay_when_a_sweep_is_taken_back(sweeps: Sweeps, root: str) -> None:
    row = sweeps.open(PATTERN, "default", "rates", root)
    _, specs = prepared(sweeps, row, POINTS[:1])
    Path(f"{root}/default/rates/notes").touch()
    sweeps.take_back(row, specs)
    assert sorted(os.listdir(f"{root}/default/rates")) == [".code", "notes"]
