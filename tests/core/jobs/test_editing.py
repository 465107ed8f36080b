"""What may be changed of a job that waits."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.jobs.editing import EDITABLE, checked_change


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("command", "python train.py", "python train.py"),
        ("timeout_s", "2h", 7200.0),
        ("timeout_s", 60, 60.0),
        ("timeout_s", None, None),
        ("grace_s", 5, 5.0),
        ("max_log_bytes", "10M", 10 << 20),
        ("priority", -5, -5),
        ("gpus", 0, 0),
        ("gpus", None, None),
        ("name", "fit", "fit"),
    ],
)
def test_a_value_is_stored_as_the_scheduler_reads_it(key: str, value: Any, stored: Any) -> None:
    kept = checked_change(key, value)
    assert (kept, type(kept)) == (stored, type(stored))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("command", ""),
        ("command", "a\0b"),
        ("cwd", None),
        ("retries", -1),
        ("retries", True),
        ("retries", "3"),
        ("grace_s", -1),
        ("grace_s", "soon"),
        ("gpus", 1.5),
        ("name", "a/b"),
        ("project", "last"),
        ("max_log_bytes", "much"),
        ("state", "done"),
    ],
)
def test_a_value_that_a_job_cannot_have_is_refused(key: str, value: Any) -> None:
    with pytest.raises(UsageError):
        checked_change(key, value)


def test_a_key_that_cannot_be_changed_is_told_with_those_that_can() -> None:
    with pytest.raises(UsageError) as raised:
        checked_change("pid", 3)
    assert str(raised.value) == f"'pid' of a job cannot be changed. These can: {', '.join(EDITABLE)}."
