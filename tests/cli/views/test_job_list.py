"""`duckrow ls` of many jobs: read and printed some at a time, so that its memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.queue.listing import annotated
from duckrow.api.queue.views import JobView
from duckrow.cli.views import job_list
from duckrow.cli.views.job_list import ListOptions, list_jobs
from duckrow.core.jobs.job import JobSpec
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON

JOBS = 9


@pytest.fixture(autouse=True)
def _jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first are done. Of the others, one has a longer name, and the last is of another project."""
    home = tmp_path / "state"
    monkeypatch.setenv("DUCKROW_HOME", str(home))
    specs = [JobSpec("true", "/", name="fit" * (3 if number == 5 else 1)) for number in range(JOBS - 1)]
    with Client(Folder(home).make()) as client, client.database.transaction():
        client.jobs.add(DAEMON, [*specs, JobSpec("true", "/", project="thesis")], {})
        client.database.execute("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id <= 3")


@pytest.mark.parametrize("options", [ListOptions(show_all=True), ListOptions(as_json=True), ListOptions(sort="-name")])
def test_a_long_list_is_printed_some_at_a_time_and_looks_the_same(
    options: ListOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    list_jobs((), options)
    at_once = capsys.readouterr()
    read: list[int] = []

    def counted(client: Client, ids: Sequence[int]) -> list[JobView]:
        read.append(len(ids))
        return annotated(client, ids)

    monkeypatch.setattr(job_list, "annotated", counted)
    monkeypatch.setattr(job_list, "_AT_A_TIME", 2)
    monkeypatch.setattr(job_list, "_EXAMPLES", 1)
    list_jobs((), options)
    some_at_a_time = capsys.readouterr()
    assert max(read) == 2
    assert [line.split() for line in some_at_a_time.out.splitlines()] == [
        line.split() for line in at_once.out.splitlines()
    ]
    assert some_at_a_time.err == at_once.err


def test_a_column_grows_when_a_later_job_needs_more_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job_list, "_AT_A_TIME", 2)
    monkeypatch.setattr(job_list, "_EXAMPLES", 1)
    list_jobs((), ListOptions(show_all=True, columns="id,name,state"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].index("failed") < lines[6].index("queued") == lines[9].index("queued")


def test_a_long_list_without_jobs_is_an_empty_one(capsys: pytest.CaptureFixture[str]) -> None:
    list_jobs((), ListOptions(as_json=True, failed=True, name="none"))
    assert capsys.readouterr().out == "[]\n"
