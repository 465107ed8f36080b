"""Everything about one job, for its page; what it used over time; what ran where."""

from __future__ import annotations

import json
import time

import pytest

from duckrow.api.queue.job_details import curve_of, job_details, outfile_of
from duckrow.api.queue.masked_environment import MASK, masked_environment
from duckrow.api.queue.recent import recent_jobs
from duckrow.api.queue.timeline import timeline
from duckrow.core.devices.inventory import WHOLE, cpu_seats, parse_gpus
from duckrow.core.errors import JobGone, NotFoundError, UsageError
from tests.api.quiet_queue import QuietQueue

TRACEBACK = "step 1\nTraceback (most recent call last):\n  File x\nValueError: no\n"


def test_a_job_tells_its_attempts_events_and_variables(queue: QuietQueue) -> None:
    (job,) = queue.add("train")
    queue.start(job, "0", "1", started_at=1000.0)
    queue.end(job, "failed", 3, took_s=20.0)
    queue.start(job, "cpu0")
    told = job_details(queue.client, job)
    first, second = told["attempts_list"]
    assert (first["state"], first["duration_s"], first["gpu_seconds"]) == ("done", 20.0, 40.0)
    assert (second["state"], second["gpu_seconds"]) == ("running", 0.0)
    assert told["environment_names"] == ["HOME"]
    assert told["run_folder"] == queue.folder.run_folder("default", "train", job)
    assert (told["code"], told["sweep_id"], told["error"]) == (None, None, [])
    assert "queued → running" in [event["text"] for event in told["events"]]
    with pytest.raises(NotFoundError):
        job_details(queue.client, 99)


@pytest.mark.parametrize(
    ("outcome", "log", "error"),
    [
        ("failed", TRACEBACK, TRACEBACK.splitlines()[1:]),
        ("failed", "\n".join("abcdefghij"), list("cdefghij")),
        ("failed", "", []),
        ("succeeded", TRACEBACK, []),
        ("killed", TRACEBACK, []),
    ],
)
def test_the_error_of_a_job_is_the_end_of_its_log(queue: QuietQueue, outcome: str, log: str, error: list[str]) -> None:
    (job,) = queue.add()
    queue.done(job, outcome, log)
    assert job_details(queue.client, job)["error"] == error


@pytest.mark.parametrize(
    ("noted", "told"),
    [
        ({"commit": "abc", "branch": "main", "changed": True}, {"commit": "abc", "branch": "main", "dirty": True}),
        ({"commit": None}, None),
        (["abc"], None),
    ],
)
def test_the_code_of_a_run_is_told_where_it_was_noted(queue: QuietQueue, noted: object, told: object) -> None:
    (job,) = queue.add()
    (queue.run_folder(job) / "code.json").write_text(json.dumps(noted))
    assert job_details(queue.client, job)["code"] == told


def test_the_output_file_is_the_one_that_was_chosen(queue: QuietQueue) -> None:
    queue.add("a", outfile="/tmp/out.txt")
    assert outfile_of(queue.client, 1) == "/tmp/out.txt"
    with pytest.raises(JobGone):
        outfile_of(queue.client, 2)


def test_what_an_attempt_used_is_a_curve_beside_what_was_reserved(queue: QuietQueue) -> None:
    queue.offers(parse_gpus(["0"]), {"0": 1000})
    (job,) = queue.add()
    assert curve_of(queue.client, job, None) == {"attempt": None, "points": [], "reserved_mb": None}
    queue.start(job, "0", share=WHOLE // 4, started_at=1000.0)
    queue.write("UPDATE attempts SET curve = '[[5, 100, 7], [10, 200, null]]'")
    assert curve_of(queue.client, job, None) == {
        "attempt": 1,
        "points": [
            {"at": 1005.0, "memory_mb": 100, "utilization": 7},
            {"at": 1010.0, "memory_mb": 200, "utilization": None},
        ],
        "reserved_mb": 250,
    }
    with pytest.raises(NotFoundError, match=r"Job 1 has no attempt 2\."):
        curve_of(queue.client, job, 2)


def test_on_a_gpu_whose_size_is_not_known_nothing_is_known_of_what_was_reserved(queue: QuietQueue) -> None:
    queue.offers(cpu_seats(1))
    (job,) = queue.add()
    queue.start(job, "7")
    assert curve_of(queue.client, job, 1)["reserved_mb"] is None


def test_values_that_may_be_secrets_are_hidden(queue: QuietQueue) -> None:
    queue.add("a", variables={"API_TOKEN": "abc", "EMPTY_TOKEN": ""})
    told = {each["name"]: each["value"] for each in masked_environment(queue.client, 1)}
    assert told == {"API_TOKEN": MASK, "EMPTY_TOKEN": "", "HOME": "/home/ada"}


# -- what ran where --------------------------------------------------------------------------------------------------


def test_a_timeline_has_a_lane_for_each_device_and_a_bar_for_each_attempt(queue: QuietQueue) -> None:
    queue.offers(parse_gpus(["0"]), {"0": 1000})
    one, other, early = queue.add("one", "other", "early")
    now = time.time()
    queue.start(one, "0", share=WHOLE // 2, started_at=now - 50)
    queue.start(other, "cpu3", "0", started_at=now - 40)
    queue.end(other, "failed", 1, took_s=10)
    queue.start(early, "0", started_at=now - 9000)
    queue.end(early, took_s=10)
    told = timeline(queue.client)
    assert [lane["device"] for lane in told["lanes"]] == ["0", "cpu3"]
    bars = told["lanes"][0]["bars"]
    assert [(bar["name"], bar["outcome"], bar["share"], bar["reserved_mb"]) for bar in bars] == [
        ("one", None, 0.5, 500),
        ("other", "failed", 1.0, 1000),
    ]
    assert told["lanes"][1]["bars"][0]["reserved_mb"] is None
    assert told["truncated"] is False
    assert timeline(queue.client, now - 9500, now - 8500)["lanes"][0]["bars"][0]["name"] == "early"


def test_a_timeline_begins_before_it_ends(queue: QuietQueue) -> None:
    with pytest.raises(UsageError, match="`from` must be less than `to`"):
        timeline(queue.client, 5.0, 5.0)


# -- for shells ------------------------------------------------------------------------------------------------------


def test_the_newest_jobs_come_first_and_no_database_is_no_jobs(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.done(queue.add("a", "b")[0], "failed")
    assert recent_jobs() == [(2, "b", "queued"), (1, "a", "failed")]
    assert recent_jobs(1) == [(2, "b", "queued")]
    monkeypatch.setenv("DUCKROW_HOME", str(queue.work / "nothing"))
    assert recent_jobs() == []
