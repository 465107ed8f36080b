"""Jobs that wait for other jobs: what people write, and when the wait is over."""

from __future__ import annotations

import pytest

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import SKIP, WAIT
from duckrow.core.life.dependencies import (
    ANY,
    FAILED,
    OK,
    AwaitedJob,
    awaited_in_words,
    in_words,
    is_met,
    is_skipped,
    parse_after,
)
from duckrow.core.life.states import Outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", [("12", OK)]),
        ("12,13", [("12", OK), ("13", OK)]),
        ("10-15", [("10-15", OK)]),
        ("prep", [("prep", OK)]),
        ("last", [("last", OK)]),
        ("ok:12", [("12", OK)]),
        ("success:12", [("12", OK)]),
        ("any:12", [("12", ANY)]),
        ("any:12,prep", [("12", ANY), ("prep", ANY)]),
        ("failed:prep", [("prep", FAILED)]),
        ("notok:12", [("12", FAILED)]),
        ("afterok:12:13", [("12", OK), ("13", OK)]),
        ("afterany:12:13", [("12", ANY), ("13", ANY)]),
        ("after:12", [("12", ANY)]),
        ("afternotok:12", [("12", FAILED)]),
        ("AfterOK:12", [("12", OK)]),
        ("12,,13,", [("12", OK), ("13", OK)]),
    ],
)
def test_what_a_job_waits_for_is_read_in_our_words_and_those_of_slurm(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert [tuple(dependency) for dependency in parse_after(text)] == expected


@pytest.mark.parametrize("text", ["", ",", "any:", "ok:,", "afterok::"])
def test_waiting_for_nobody_is_an_error(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_after(text)
    assert str(raised.value).startswith(f"--after {text} names no job. Write --after 12")


@pytest.mark.parametrize(("text", "word"), [("soon:12", "soon"), ("12:13", "12"), (":12", ""), (" ok:12", " ok")])
def test_an_unknown_condition_is_named(text: str, word: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_after(text)
    assert f"'{word}' is not a condition. Write ok:12, any:12 or failed:12." in str(raised.value)


@pytest.mark.parametrize("outcome", Outcome)
def test_only_success_is_ok_anything_else_is_failed_and_any_end_is_any(outcome: Outcome) -> None:
    succeeded = outcome is Outcome.SUCCEEDED
    assert is_met(OK, outcome) is succeeded
    assert is_met(FAILED, outcome) is not succeeded
    assert is_met(ANY, outcome) is True


@pytest.mark.parametrize(
    ("condition", "words"), [(OK, "job 12 to succeed"), (ANY, "job 12 to end"), (FAILED, "job 12 to fail")]
)
def test_a_condition_is_told_in_words(condition: str, words: str) -> None:
    assert in_words(condition, 12) == words


def test_a_job_that_can_never_start_is_skipped_unless_it_is_to_wait_for_a_rerun() -> None:
    assert is_skipped(OK, Outcome.FAILED, SKIP)
    assert is_skipped(FAILED, Outcome.SUCCEEDED, SKIP)
    assert not is_skipped(OK, Outcome.FAILED, WAIT)
    assert not is_skipped(OK, Outcome.SUCCEEDED, SKIP)
    assert not is_skipped(ANY, Outcome.FAILED, SKIP)


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ([], []),
        ([AwaitedJob(3, OK), AwaitedJob(9, ANY)], ["job 3 to succeed", "job 9 to end"]),
        ([AwaitedJob(each, OK) for each in (1, 2, 3)], [f"job {each} to succeed" for each in (1, 2, 3)]),
        ([AwaitedJob(each, FAILED) for each in (1, 2, 3, 7)], ["4 jobs to fail: 1-3,7"]),
        ([AwaitedJob(4, OK, array_id=4, array="fit")], ["job 4 to succeed"]),
        (
            [AwaitedJob(each, OK, array_id=4, array="fit") for each in range(4, 304)] + [AwaitedJob(400, OK)],
            ["300 jobs of the array fit to succeed: 4-303", "job 400 to succeed"],
        ),
    ],
)
def test_many_that_are_awaited_alike_are_told_together(jobs: list[AwaitedJob], told: list[str]) -> None:
    assert awaited_in_words(jobs) == told
