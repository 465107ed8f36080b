"""Jobs before they are added: how the text is read, what is wrong with it, where each would run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duckrow.api.adding import drafts
from duckrow.api.adding.drafts import DraftedJobs, add_drafts, preview
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import UsageError
from duckrow.store.jobs.control import ControlStore
from tests.api.quiet_queue import QuietQueue


def test_each_line_is_previewed_with_its_words_and_where_it_would_run(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    queue.up()
    told = preview(queue.client, DraftedJobs("python train.py 'a b'\necho \"open"))
    first, second = told["jobs"]
    assert first["words"] == ["python", "train.py", "a b"]
    assert (first["name"], first["note"], first["problems"]) == ("train", None, [])
    assert first["placement"]
    assert second["note"] == "A shell may not understand this: no closing quotation."
    assert told["problems"] == []


def test_without_a_daemon_it_is_told_that_one_is_started(queue: QuietQueue) -> None:
    (job,) = preview(queue.client, DraftedJobs("true"))["jobs"]
    assert job["placement"] == "the daemon is not running: it starts when you add jobs"


def test_a_job_for_a_cluster_is_placed_by_the_cluster(queue: QuietQueue) -> None:
    (job,) = preview(queue.client, DraftedJobs("true", {"on": "slurm"}))["jobs"]
    assert job["placement"] == "it goes to the cluster, which places it"


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (DraftedJobs(" \n"), "There is no command in this text. Write one on each line."),
        (DraftedJobs("a\nb", array="0-3"), "An array is for one command. This text already has one job per line."),
        (DraftedJobs("a", array="0-10000"), "10001 jobs are too many for one request: at most 10000."),
        (DraftedJobs("a\nb", {"outfile": "x"}), "An output file is for one job: "),
        (DraftedJobs("a", {"gpu": 1}), "gpu"),
    ],
)
def test_what_is_wrong_with_all_of_them_is_told_once(queue: QuietQueue, wanted: DraftedJobs, told: str) -> None:
    shown = preview(queue.client, wanted)
    assert shown["jobs"] == []
    assert told in shown["problems"][0]


def test_an_output_file_must_be_new_and_belong_to_one_job(queue: QuietQueue, tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    lines = ["a;;old;;true;;;", "b;;none/x;;true;;;", "c;;new;;true;;;", "d;;new;;true;;;"]
    problems = [job["problems"] for job in preview(queue.client, DraftedJobs("\n".join(lines)))["jobs"]]
    assert problems == [
        [f"The output file {tmp_path}/old already exists."],
        [f"The output file {tmp_path}/none/x cannot be opened: there is no folder {tmp_path}/none."],
        [],
        [f"Another of these jobs also writes to {tmp_path}/new."],
    ]
    assert drafts.outfile_problems("a\0b") == ["The output file has a NUL byte in its name."]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("true\nfalse", {"outfile": "/tmp/x"}, "several would overwrite each other's output"),
        ("   \n# nothing", {}, "There is no command"),
        ("true", {"gpus": "two"}, "a whole number"),
        ("true", {"gpsu": 2}, "Did you mean gpus?"),
        ("true", {"gpus": 99}, "can never start"),
        ("true", {"timeout": "soon"}, "timeout"),
        ("true", {"cwd": "/no/such/folder"}, "does not exist"),
        ("true", {"name": "../../etc"}, "cannot be a name"),
        ("true", {"project": "a/b"}, "project"),
        ("true", {"env": {"A=B": "1"}}, "env"),
        ("a;;b;;;c;;d;;e;;;", {}, "is not NAME;;OUTFILE;;COMMAND"),
        ("a;;/no/such/x;;true;;;", {}, "cannot be opened"),
        ("a;;x.txt;;true;;;b;;x.txt;;true;;;", {}, "Another of these jobs"),
    ],
)
def test_all_are_checked_before_any_is_taken(queue: QuietQueue, text: str, options: dict[str, Any], said: str) -> None:
    queue.offers(cpu_seats(2))
    queue.up()
    with pytest.raises(UsageError) as refused:
        add_drafts(queue.client, DraftedJobs(text, options))
    assert said in str(refused.value)
    problems = preview(queue.client, DraftedJobs(text, options))["problems"]
    assert any(said in problem for problem in problems), problems
    assert queue.client.database.one("SELECT count(*) FROM jobs") == 0


def test_all_are_added_or_none(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    with pytest.raises(UsageError, match=r"\(1 more problem\) Nothing was added\.$"):
        add_drafts(queue.client, DraftedJobs("a;;none/x;;true;;;\nb;;none/y;;true;;;"))
    assert add_drafts(queue.client, DraftedJobs("true\nfalse", {"project": "vision"})) == [1, 2]
    assert queue.client.job(2).project == "vision"


def test_an_array_is_one_command_for_each_index_so_many_at_a_time(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    ids = add_drafts(queue.client, DraftedJobs("true", array="4-6%2"))
    assert [view.array_index for view in queue.client.views(ids)] == [4, 5, 6]
    assert ControlStore(queue.client.database).limits() == {"array:1": 2}


def test_runs_get_folders_where_they_are_asked_to(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    add_drafts(queue.client, DraftedJobs("python fit.py", root="results"))
    assert queue.client.job(1).folder == f"{queue.work}/results/default/fit/1"
