"""What follows the end of an attempt."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.retry import LONGEST_BACKOFF_S, MOST_LOSSES, Verdict, after_end
from duckrow.core.life.states import Outcome
from tests.core.language import job


def end(
    of: QueuedJob,
    outcome: Outcome = Outcome.FAILED,
    exit_code: int | None = 1,
    ran_s: float = 60.0,
    wanted_dead: bool = False,
) -> Verdict:
    return after_end(of, outcome, exit_code, ran_s, wanted_dead, "what happened")


def test_success_is_the_end() -> None:
    verdict = end(job(retries=3), Outcome.SUCCEEDED, 0)
    assert verdict == Verdict(Outcome.SUCCEEDED, again=False, detail="what happened")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.KILLED, Outcome.LOST, Outcome.TIMED_OUT])
def test_without_retries_a_failure_is_the_end(outcome: Outcome) -> None:
    assert end(job(), outcome) == Verdict(outcome, again=False, detail="what happened")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.KILLED, Outcome.LOST, Outcome.TIMED_OUT])
def test_with_retries_a_failure_is_tried_again_after_the_backoff(outcome: Outcome) -> None:
    verdict = end(job(retries=2, backoff_s=10.0), outcome)
    assert verdict == Verdict(outcome, True, 10.0, uses_retry=True, detail=f"{outcome}, retry 1 of 2")


def test_the_backoff_doubles_with_each_retry() -> None:
    waits = [end(job(retries=9, retries_used=used, backoff_s=10.0)).wait_s for used in range(5)]
    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0]


def test_the_backoff_is_never_more_than_an_hour() -> None:
    assert LONGEST_BACKOFF_S == 3600.0
    assert end(job(retries=99, retries_used=50, backoff_s=10.0)).wait_s == LONGEST_BACKOFF_S
    assert end(job(retries=99, backoff_s=1e6)).wait_s == LONGEST_BACKOFF_S


def test_many_retries_do_not_overflow_the_backoff() -> None:
    assert end(job(retries=2000, retries_used=1100, backoff_s=0.0)).again
    assert end(job(retries=2000, retries_used=1100, backoff_s=1.0)).wait_s == LONGEST_BACKOFF_S


def test_a_backoff_of_nothing_tries_again_at_once() -> None:
    verdict = end(job(retries=1, backoff_s=0.0))
    assert verdict.again
    assert verdict.wait_s == 0


def test_retries_run_out() -> None:
    assert end(job(retries=2, retries_used=1)).again
    assert not end(job(retries=2, retries_used=2)).again


def test_exit_code_75_goes_back_without_using_a_retry() -> None:
    verdict = end(job(retries=0), exit_code=75)
    assert verdict.again
    assert not verdict.uses_retry
    assert verdict.wait_s == 0
    assert "exit 75" in verdict.detail


def test_a_hasty_exit_code_75_waits_a_little() -> None:
    assert end(job(), exit_code=75, ran_s=4.9).wait_s == 5.0
    assert end(job(), exit_code=75, ran_s=5.0).wait_s == 0


def test_exit_code_75_at_the_time_limit_goes_back_too() -> None:
    verdict = end(job(), Outcome.TIMED_OUT, exit_code=75)
    assert verdict.again


@pytest.mark.parametrize("exit_code", [0, 1, 75, None])
def test_a_job_whose_end_somebody_wanted_is_never_tried_again(exit_code: int | None) -> None:
    verdict = end(job(retries=9), Outcome.KILLED, exit_code, wanted_dead=True)
    assert verdict == Verdict(Outcome.KILLED, again=False, detail="what happened")


@given(st.integers(0, 60), st.floats(0, 1e5))
def test_a_job_is_tried_exactly_as_often_as_asked(retries: int, backoff_s: float) -> None:
    trying = job(retries=retries, backoff_s=backoff_s)
    verdicts = [end(trying, Outcome.FAILED)]
    while verdicts[-1].again:
        trying = trying._replace(retries_used=trying.retries_used + verdicts[-1].uses_retry)
        verdicts.append(end(trying, Outcome.FAILED))
    assert len(verdicts) == retries + 1
    waits = [verdict.wait_s for verdict in verdicts[:-1]]
    assert all(first <= second for first, second in pairwise(waits))
    assert all(wait <= LONGEST_BACKOFF_S for wait in waits)


def test_a_lost_job_goes_back_without_using_up_a_retry_if_it_should() -> None:
    verdict = end(job(requeue_lost=1, retries=1, backoff_s=10.0), Outcome.LOST)
    assert (verdict.again, verdict.uses_retry, verdict.is_loss, verdict.wait_s) == (True, False, True, 0.0)
    assert verdict.detail == "lost: what happened; requeued"


def test_a_job_that_is_lost_again_and_again_goes_back_only_so_often() -> None:
    assert end(job(requeue_lost=1, losses=MOST_LOSSES - 1), Outcome.LOST).again
    last = end(job(requeue_lost=1, losses=MOST_LOSSES), Outcome.LOST)
    assert (last.again, last.outcome) == (False, Outcome.LOST)
    assert last.detail == "what happened; lost 6 times in a row, so it is not requeued any more"
    assert end(job(requeue_lost=1, losses=MOST_LOSSES, retries=1), Outcome.LOST).uses_retry


def test_only_what_is_lost_goes_back_so_and_nothing_that_a_person_has_killed() -> None:
    assert not end(job(requeue_lost=1), Outcome.FAILED).again
    assert not end(job(requeue_lost=1), Outcome.LOST, wanted_dead=True).again
    assert not end(job(), Outcome.LOST).again
