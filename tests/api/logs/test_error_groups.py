"""Failed jobs, each error once."""

from __future__ import annotations

import pytest

from duckrow.api.logs import error_groups
from duckrow.api.logs.error_groups import errors_of
from duckrow.core.jobs.job_filter import Filter
from tests.api.quiet_queue import QuietQueue

FAILED = Filter(["failed"])


def test_jobs_with_the_same_error_are_one_group_and_the_largest_comes_first(queue: QuietQueue) -> None:
    ids = queue.add("a", "b", "c", "d")
    logs = ["no file 7\n", "begin\nCUDA error at 0x7f01\n", "begin\nCUDA error at 0x7f02\n", ""]
    for job, log in zip(ids, logs, strict=True):
        queue.done(job, "failed", log, exit_code=job % 2 + 1)
    groups, left_out = errors_of(queue.client, FAILED, 5)
    assert left_out == 0
    assert [(group["error"], group["ids"], group["exit"], group["rerun"]) for group in groups] == [
        ("CUDA error at 0x7f01", [2, 3], ["1", "2"], "duckrow rerun 2-3"),
        ("no file 7", [1], ["2"], "duckrow rerun 1"),
        ("(no output)", [4], ["1"], "duckrow rerun 4"),
    ]
    assert groups[0]["lines"] == ["begin", "CUDA error at 0x7f01"]


def test_only_the_newest_are_looked_at_and_the_others_are_counted(
    queue: QuietQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_groups, "LOOKED_AT", 1)
    for job in queue.add("a", "b"):
        queue.done(job, "failed", f"error of {job}\n", exit_code=1)
    groups, left_out = errors_of(queue.client, FAILED, 1)
    assert ([group["ids"] for group in groups], left_out) == ([[2]], 1)
