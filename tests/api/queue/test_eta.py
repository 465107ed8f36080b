"""How long jobs will take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from duckrow.api.queue.eta import ExpectedStart, ExpectedTimes, expected_ends, run_left_s
from duckrow.core.jobs.job import LiveAttempt, QueuedJob
from duckrow.core.schedule.run_times import RunTimes
from tests.core.language import attempt, job


class Queued(NamedTuple):
    command: str
    name: str = "train"
    sweep: str | None = None
    project: str = "p"
    cwd: str = "/"
    needs: str | None = None


def test_of_jobs_far_behind_in_a_queue_those_before_them_tell() -> None:
    times = RunTimes()
    for size in range(1, 9):
        times.note(Queued(f"./train --size {size}"), 10.0 * size)
    expected = ExpectedTimes(times)
    assert expected.seconds(Queued("./train --size 4")) == 40.0
    assert expected.seconds(Queued("./train --size 5")) == 50.0
    for _ in range(500):
        expected.seconds(Queued("./other", name="other"))
    assert expected.seconds(Queued("./train --size 8")) == 45.0
    assert expected.seconds(Queued("./third", name="third")) is None


def waiting(*seconds: float, seats: int = 1) -> list[ExpectedStart]:
    return [ExpectedStart(number, expected_s, seats) for number, expected_s in enumerate(seconds, start=1)]


def test_on_one_seat_jobs_end_one_after_the_other() -> None:
    assert expected_ends(1, [5.0], waiting(10, 20), {1, 2}) == {1: 15.0, 2: 35.0}


def test_on_two_seats_the_next_takes_the_one_that_is_free_first() -> None:
    assert expected_ends(2, [7.0], waiting(10, 20, 30), {1, 2, 3}) == {1: 10.0, 2: 27.0, 3: 40.0}


def test_a_job_on_several_seats_waits_for_all_of_them() -> None:
    assert expected_ends(2, [7.0, 3.0], waiting(10, seats=2), {1}) == {1: 17.0}


def test_a_job_that_wants_more_seats_than_there_are_stops_nothing() -> None:
    assert expected_ends(2, [], waiting(10, seats=5), {1}) == {1: 10.0}


def test_a_seat_on_which_more_runs_than_is_ours_is_still_one() -> None:
    assert expected_ends(1, [5.0, 7.0, 3.0], waiting(10, 20), {1, 2}) == {1: 17.0, 2: 37.0}


def test_behind_a_job_of_which_nothing_is_known_nothing_is_known() -> None:
    assert expected_ends(1, [], waiting(10, math.inf, 10), {1, 2, 3}) == {1: 10.0}
    assert expected_ends(1, [math.inf], waiting(10), {1}) == {}


def test_no_more_of_the_queue_is_read_than_is_needed() -> None:
    def endless() -> Iterator[ExpectedStart]:
        for number in range(1, 1000):
            assert number < 4
            yield ExpectedStart(number, 1.0, 1)

    assert expected_ends(1, [], endless(), {3}) == {3: 3.0}


class PretendRun(NamedTuple):
    """Two seats; whatever is not said does not matter."""

    added: int
    running: Sequence[LiveAttempt] = ()
    waiting: Sequence[QueuedJob] = ()
    run_times: RunTimes | None = None
    seat_count: int = 2
    host_id: int = 1
    reading: bool = False
    waits_for: Sequence[str] = ()
    interrupts: int = 0
    hung_up: bool = False


def steps(number: int, of: int = 1) -> QueuedJob:
    return job(of, id=number, command=f"python train.py --steps {number}")


def known() -> RunTimes:
    times = RunTimes()
    for number in range(1, 9):
        times.note(steps(number), 10.0 * number)
    return times


def test_a_run_ends_when_the_last_of_its_jobs_does_by_what_similar_ones_took() -> None:
    running = [attempt(steps(5), started_at=1000.0), attempt(steps(2), started_at=1000.0)]
    run = PretendRun(6, running, [steps(8), steps(1)], known())
    assert run_left_s(run, done=2, usual_s=3.0, now=1010.0) == 10 + 80  # job 8 follows job 2, job 1 job 5


def test_a_run_of_which_nothing_is_known_goes_on_at_its_pace() -> None:
    running = [attempt(steps(1), started_at=1000.0), attempt(steps(2), started_at=1000.0)]
    assert run_left_s(PretendRun(6, running), done=2, usual_s=30.0, now=1010.0) == 20 + 2 * 30 / 2


def test_of_a_long_run_the_first_that_wait_tell_about_the_others() -> None:
    run = PretendRun(1004, waiting=[steps(3), steps(5)], run_times=known())
    assert run_left_s(run, done=2, usual_s=3.0, now=0.0) == 50 + 1000 * 40 / 2


def test_a_job_on_both_gpus_counts_on_both() -> None:
    run = PretendRun(
        2, [attempt(steps(2, of=2), started_at=0.0, holds=(("0", 1), ("1", 1)))], [steps(4, of=2)], known()
    )
    assert run_left_s(run, done=0, usual_s=3.0, now=0.0) == 20 + 40


def test_jobs_that_share_a_gpu_run_side_by_side() -> None:
    running = [attempt(steps(2), started_at=0.0) for _ in range(4)]
    run = PretendRun(5, running, [steps(4)], known(), seat_count=1)
    assert run_left_s(run, done=0, usual_s=3.0, now=0.0) == 20 + 40
