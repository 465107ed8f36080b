"""Jobs that fail in a row on one GPU: when it is suspected, and whose fault it was."""

from __future__ import annotations

import pytest

from duckrow.core.devices.gpu_suspicion import ENOUGH, QUICK_S, Blame, Effect, Failure, Streaks, Suspect, effect_of
from duckrow.core.life.states import Outcome

GOOD, BAD, FAIR, NONE = Effect.GOOD, Effect.BAD, Effect.FAIR, Effect.NONE


class Story:
    """Ends of attempts, one after the other: `ended("3", BAD)`."""

    def __init__(self) -> None:
        self.streaks = Streaks()
        self.job = 0

    def ended(self, gpus: str, effect: Effect, job: int | None = None) -> list[str]:
        self.job += 1
        failure = Failure(self.job if job is None else job, 1, 0)
        return self.streaks.note(gpus.split(","), failure, effect)

    def __call__(self, *ends: tuple[str, Effect]) -> list[str]:
        suspects: list[str] = []
        for gpus, effect in ends:
            suspects = self.ended(gpus, effect)
        return suspects


@pytest.fixture
def story() -> Story:
    return Story()


def test_three_failures_while_another_gpu_succeeds_make_a_suspect(story: Story) -> None:
    assert story(("3", BAD), ("0", GOOD), ("3", BAD)) == []
    assert story(("3", BAD)) == ["3"]
    assert [failure.job_id for failure in story.streaks.take("3")] == [1, 3, 4]
    assert story(("3", BAD)) == []  # they were taken


def test_a_success_elsewhere_may_come_after_many_failures(story: Story) -> None:
    assert story(*[("3", BAD)] * 37) == []
    assert story(("0", GOOD)) == ["3"]
    assert len(story.streaks.take("3")) == 37


def test_a_success_elsewhere_before_the_first_failure_says_nothing(story: Story) -> None:
    assert story(("0", GOOD), *[("3", BAD)] * 5) == []


def test_without_a_success_elsewhere_it_is_the_jobs(story: Story) -> None:
    assert story(*[("3", BAD), ("0", BAD), ("1", BAD)] * 10) == []


def test_where_jobs_fail_elsewhere_too_it_is_the_jobs(story: Story) -> None:
    assert story(("3", BAD), ("0", GOOD), ("0", BAD), *[("3", BAD)] * 5) == []
    assert story(*[("0", GOOD)] * 2) == []
    assert story(("0", GOOD)) == ["3"], "four good ones for a bad one"


def test_one_gpu_alone_is_never_suspected(story: Story) -> None:
    assert story(*[("0", BAD)] * 5, ("0", GOOD), *[("0", BAD)] * 5) == []


@pytest.mark.parametrize("effect", [GOOD, FAIR])
def test_a_gpu_that_worked_in_between_is_not_suspected(story: Story, effect: Effect) -> None:
    assert story(("3", BAD), ("0", GOOD), ("3", BAD), ("3", effect), ("3", BAD)) == []


def test_an_end_with_other_reasons_neither_counts_nor_clears(story: Story) -> None:
    assert story(("3", BAD), ("0", GOOD), ("3", BAD), ("3", NONE)) == []
    assert story(("3", BAD)) == ["3"]


def test_one_job_that_is_tried_again_and_again_counts_once(story: Story) -> None:
    story.ended("3", BAD, job=7)
    story.ended("0", GOOD)
    assert [story.ended("3", BAD, job=7) for _ in range(5)] == [[]] * 5


def test_of_a_job_on_several_gpus_each_is_suspected_unless_it_worked(story: Story) -> None:
    assert story(("0,1", BAD), ("2,3", GOOD), ("0,1", BAD), ("1", GOOD), ("0,1", BAD)) == ["0"]


def test_after_the_jobs_were_to_blame_it_takes_more(story: Story) -> None:
    story(*[("3", BAD)] * ENOUGH, ("0", GOOD))
    story.streaks.take("3")
    story.streaks.was_innocent("3")
    assert story(*[("3", BAD)] * (2 * ENOUGH - 1), ("0", GOOD)) == []
    assert story(("3", BAD)) == ["3"]
    story.streaks.take("3")
    assert story(("3", GOOD), *[("3", BAD)] * ENOUGH, ("0", GOOD)) == ["3"]  # it worked: as before


def test_what_was_forgotten_counts_no_more(story: Story) -> None:
    story(*[("3", BAD)] * ENOUGH)
    story.streaks.was_innocent("3")
    story.streaks.forget("3")
    assert story(("0", GOOD)) == []
    assert story(*[("3", BAD)] * ENOUGH, ("0", GOOD)) == ["3"]


# -- the jobs that tell ------------------------------------------------------------------------------------------


def suspect(count: int = 5) -> Suspect:
    return Suspect.of([Failure(job, 1, 0) for job in range(1, count + 1)])


def test_the_first_jobs_are_tried_elsewhere() -> None:
    five = suspect()
    assert five.tried == [1, 2, 3]
    assert [failure.job_id for failure in five.rest()] == [4, 5]


def test_one_success_elsewhere_is_enough_to_blame_the_gpu() -> None:
    assert [suspect().note(2, GOOD, again=False)] == [Blame.GPU]
    five = suspect()
    assert [five.note(1, BAD, again=False), five.note(2, FAIR, again=False)] == [None, None]
    assert five.note(3, GOOD, again=False) is Blame.GPU


def test_if_all_fail_elsewhere_it_was_the_jobs() -> None:
    five = suspect()
    assert [five.note(job, BAD, again=True) for job in (1, 2, 3)] == [None, None, Blame.JOBS]


def test_a_job_that_was_killed_tells_nothing() -> None:
    five = suspect()
    assert [five.note(job, NONE, again=False) for job in (3, 2, 1)] == [None, None, Blame.JOBS]


def test_a_job_that_goes_back_for_a_reason_of_its_own_has_yet_to_tell() -> None:
    one = suspect(1)
    assert one.note(1, NONE, again=True) is None
    assert one.note(1, GOOD, again=False) is Blame.GPU


def test_other_jobs_tell_nothing() -> None:
    assert suspect().note(4, GOOD, again=False) is None


# -- what an end says --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "exit_code", "signal", "ran_s", "stopped", "effect"),
    [
        (Outcome.SUCCEEDED, 0, None, 0.1, False, GOOD),
        (Outcome.SUCCEEDED, 0, None, 0.1, True, GOOD),  # within the grace of its time limit
        (Outcome.FAILED, 1, None, 0.1, False, BAD),
        (Outcome.FAILED, None, 11, 0.1, False, BAD),
        (Outcome.FAILED, 1, None, QUICK_S + 1, False, FAIR),
        (Outcome.FAILED, 127, None, 0.1, False, NONE),  # command not found
        (Outcome.FAILED, 126, None, 0.1, False, NONE),
        (Outcome.FAILED, None, None, 0.1, False, NONE),  # it could not be started
        (Outcome.FAILED, 1, None, 0.1, True, NONE),
        (Outcome.OUT_OF_MEMORY, 1, None, 0.1, False, NONE),
        (Outcome.TIMED_OUT, None, 15, 0.1, True, NONE),
        (Outcome.KILLED, None, 9, 0.1, False, NONE),
        (Outcome.LOST, None, None, 0.1, False, NONE),
    ],
)
def test_what_an_end_says_of_its_gpu(
    outcome: Outcome, exit_code: int | None, signal: int | None, ran_s: float, stopped: bool, effect: Effect
) -> None:
    assert effect_of(outcome, exit_code, signal, ran_s, stopped) is effect
