"""What is added to the queue, what is refused, and what a new job waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.api.jobs.submit import could_never_start, submit_jobs
from duckrow.api.queue.job_details import outfile_of
from duckrow.core.devices.inventory import cpu_seats, parse_gpus
from duckrow.core.errors import NotFoundError, UsageError
from duckrow.core.jobs.job import WAIT, JobSpec
from duckrow.core.jobs.output_names import OutputNames
from duckrow.core.life.dependencies import Dependency
from duckrow.store.jobs.control import ControlStore
from tests.api.quiet_queue import QuietQueue


@pytest.fixture
def slots(queue: QuietQueue) -> QuietQueue:
    queue.offers(cpu_seats(2))
    return queue


def spec(**fields: object) -> JobSpec:
    return JobSpec("true", "/", **fields)  # type: ignore[arg-type]


def waits_for(queue: QuietQueue, job: int) -> list[tuple[int, str]]:
    rows = queue.client.database.all("SELECT on_job_id, condition FROM dependencies WHERE job_id = ?", (job,))
    return [tuple(row) for row in rows]


def test_jobs_are_queued_with_the_variables_here_and_the_changes_to_them(
    slots: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("DROPPED", "1")
    ids = submit_jobs(slots.client, [spec(), spec()], {"NEW": "2", "DROPPED": None})
    assert list(ids) == [1, 2]
    variables = slots.client.database.one("SELECT variables FROM environments")
    assert '"KEPT"' in variables
    assert '"NEW"' in variables
    assert "DROPPED" not in variables


def test_one_that_could_never_start_is_refused_and_none_is_added(slots: QuietQueue) -> None:
    with pytest.raises(UsageError, match=r"^This job can never start\. .* Nothing was submitted\.$"):
        submit_jobs(slots.client, [spec(), spec(gpus=2)])
    assert slots.client.database.one("SELECT count(*) FROM jobs") == 0


def test_those_that_could_never_start_are_told_by_their_place(queue: QuietQueue) -> None:
    queue.offers(parse_gpus(["0"]), {"0": 1024})
    found = dict(could_never_start(queue.client, [spec(gpus=1), spec(gpus=2), spec(gpus=2)]))
    assert list(found) == [1, 2]


def test_a_new_job_waits_for_those_that_have_not_ended_and_not_for_those_that_have(slots: QuietQueue) -> None:
    done, running = slots.add("done", "running")
    slots.done(done)
    slots.start(running)
    (job,) = submit_jobs(slots.client, [spec()], after=[Dependency("1-2", "ok")])
    assert waits_for(slots, job) == [(running, "ok")]


@pytest.mark.parametrize(
    ("outcome", "condition", "told"),
    [
        ("failed", "ok", "job 1 to succeed, which already failed"),
        ("succeeded", "failed", "job 1 to fail, which already succeeded"),
    ],
)
def test_one_whose_dependency_ended_in_the_wrong_way_is_refused(
    slots: QuietQueue, outcome: str, condition: str, told: str
) -> None:
    slots.add()
    slots.done(1, outcome)
    with pytest.raises(UsageError, match=f"{told}, so it would never start. Nothing was submitted."):
        submit_jobs(slots.client, [spec()], after=[Dependency("1", condition)])
    (job,) = submit_jobs(slots.client, [spec(if_broken=WAIT)], after=[Dependency("1", condition)])
    assert waits_for(slots, job) == [(1, condition)], "it asked to wait all the same"


def test_last_means_a_job_from_before(slots: QuietQueue) -> None:
    slots.add("a", "b")
    first, second = submit_jobs(slots.client, [spec(), spec()], after=[Dependency("last", "any")])
    assert waits_for(slots, first) == waits_for(slots, second) == [(2, "any")]
    with pytest.raises(NotFoundError):
        submit_jobs(slots.client, [spec()], after=[Dependency("99", "ok")])


def test_so_many_of_an_array_run_at_a_time(slots: QuietQueue) -> None:
    ids = submit_jobs(slots.client, [spec(array_index=index) for index in range(3)], array_limit=2)
    assert ControlStore(slots.client.database).limits() == {f"array:{ids[0]}": 2}


def test_the_output_goes_where_it_was_asked_to_with_the_number_of_the_job_in_it(
    slots: QuietQueue, tmp_path: Path
) -> None:
    output = OutputNames(f"{tmp_path}/%j.out", f"{tmp_path}/%j.err", "ada", "here")
    submit_jobs(slots.client, [spec(), spec()], output=output)
    assert [outfile_of(slots.client, job) for job in (1, 2)] == [f"{tmp_path}/1.out", f"{tmp_path}/2.out"]
    assert f"2>>{tmp_path}/2.err" in slots.client.job(2).command
