"""GPUs that are broken, or look so: who gets no job any more, whose failures are forgiven, and how a GPU comes back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from duckrow.core.life.wishes import DeviceWish
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Does, Queue, by_gpu, fails, gpus, runs, succeeds

SLOWLY = 31.0  # a failure after this says nothing against a GPU


@pytest.fixture
def queue(make_queue: MakeQueue) -> Queue:
    """With two GPUs."""
    return make_queue(*gpus("24G", "24G"))


def read_once(queue: Queue) -> None:
    """What is new in a reading can only be told from the reading before."""
    queue.passes(30)


def fail_on_the_first(queue: Queue, count: int = 8, then: Sequence[Does] = ()) -> list[int]:
    """Jobs that fail at once on GPU 0 and succeed elsewhere; `then`: what they do when they are tried again."""
    does = by_gpu({"0": fails(after_s=1)}, succeeds(after_s=1))
    return [queue.add(does, *then, gpus=1) for _ in range(count)]


# -- what the driver says ---------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # hundreds of ticks
def test_a_gpu_that_fell_off_the_bus_gets_no_job(queue: Queue) -> None:
    read_once(queue)
    queue.breaks("0", xids=(79,))
    read_once(queue)
    jobs = [queue.add(runs(), gpus=1) for _ in range(2)]
    queue.passes(60)
    assert queue.states(*jobs) == ["running", "queued"]
    assert queue.gpus_of(jobs[0]) == ["1"]
    assert "Xid 79" in queue.set_aside()["0"]
    assert "duckrow gpus add 0" in queue.told.sentences[-1]


def test_a_job_that_fails_on_a_broken_gpu_waits_again_and_uses_up_no_retry(queue: Queue) -> None:
    job = queue.add(by_gpu({"0": fails(after_s=200)}, succeeds(after_s=1)), gpus=1)
    queue.passes(1)
    queue.breaks("0", xids=(48,))
    queue.passes(210)
    assert queue.state(job) == "succeeded"
    assert queue.gpus_of(job) == ["0", "1"]
    assert any("GPU 0" in detail and "Xid 48" in detail for detail in queue.details(job))


def test_a_job_that_failed_just_before_the_fault_was_seen_waits_again(queue: Queue) -> None:
    job = queue.add(by_gpu({"0": fails(after_s=3)}, succeeds(after_s=1)), gpus=1)
    queue.passes(2.9)
    queue.breaks("0", xids=(79,))
    queue.passes(10)
    assert queue.state(job) == "succeeded"
    assert queue.gpus_of(job) == ["0", "1"]


def test_a_job_that_failed_on_a_gpu_that_was_healthy_afterwards_has_failed(queue: Queue) -> None:
    job = queue.add(fails(after_s=3), gpus=1)
    queue.passes(30)
    queue.breaks("0", xids=(79,))
    queue.passes(30)
    assert queue.state(job) == "failed"
    assert "0" in queue.set_aside()


def test_a_gpu_that_was_reset_is_given_out_again(queue: Queue) -> None:
    read_once(queue)
    queue.breaks("0", cure="it must be reset")
    read_once(queue)
    assert list(queue.set_aside()) == ["0"]
    queue.heals("0")
    queue.passes(30)
    assert queue.set_aside() == {}
    jobs = [queue.add(runs(), gpus=1) for _ in range(2)]
    queue.passes(10)
    assert queue.states(*jobs) == ["running", "running"]


def test_a_gpu_that_comes_and_goes_is_left_to_a_person_after_the_third_time(queue: Queue) -> None:
    read_once(queue)
    for _ in range(3):
        queue.breaks("0", cure="it must be reset")
        queue.passes(20)
        assert list(queue.set_aside()) == ["0"]
        queue.heals("0")
        queue.passes(20)
        assert queue.set_aside() == {}
    queue.breaks("0", cure="it must be reset")
    queue.passes(20)
    queue.heals("0")
    queue.passes(100)
    assert list(queue.set_aside()) == ["0"]


def test_a_gpu_that_says_nothing_is_set_aside_once_that_has_lasted(queue: Queue) -> None:
    queue.add(runs(), gpus=1)
    queue.add(runs(), gpus=1)
    queue.passes(60)
    queue.breaks("1", is_silent=True)
    queue.passes(30)
    assert list(queue.set_aside()) == ["1"]


def test_a_person_gets_a_gpu_back(queue: Queue) -> None:
    read_once(queue)
    queue.breaks("0", xids=(79,))
    read_once(queue)
    queue.heals("0")
    queue.wants_back("0")
    jobs = [queue.add(runs(), gpus=1) for _ in range(2)]
    queue.passes(10)
    assert queue.states(*jobs) == ["running", "running"]
    assert queue.set_aside() == {}


def test_a_gpu_that_is_no_longer_given_out_is_no_longer_set_aside(queue: Queue) -> None:
    read_once(queue)
    queue.breaks("0", xids=(79,))
    read_once(queue)
    queue.drain("0", DeviceWish.REMOVE)
    queue.passes(1)
    queue.drain("0", None)
    queue.passes(1)
    assert queue.set_aside() == {}


def test_when_no_gpu_is_left_people_are_told(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    read_once(queue)
    queue.breaks("0", xids=(79,))
    read_once(queue)
    assert "No GPU is left" in queue.told.sentences[-1]


def test_the_next_daemon_goes_on_with_what_was_set_aside_and_a_restarted_machine_does_not(queue: Queue) -> None:
    read_once(queue)
    queue.breaks("0", xids=(79,))
    read_once(queue)
    queue.dies()
    queue.begin()
    queue.passes(1)
    assert list(queue.set_aside()) == ["0"]
    assert queue.told.sentences[-1].startswith("GPU 0 is still set aside")
    queue.dies()
    queue.heals("0")
    with queue.database.transaction():
        queue.database.execute("UPDATE set_aside SET boot_id = 'of the boot before'")
    queue.begin()
    queue.passes(1)
    assert queue.set_aside() == {}


def test_a_host_that_may_not_set_gpus_aside_does_not(queue: Queue) -> None:
    queue.host().loop.never_set_gpus_aside()
    read_once(queue)
    queue.breaks("0", xids=(79,))
    job = queue.add(fails(after_s=1), gpus=1)
    read_once(queue)
    assert queue.state(job) == "failed"
    assert queue.set_aside() == {}


# -- what ends say ----------------------------------------------------------------------------------------------------


def test_a_gpu_on_which_jobs_fail_at_once_while_others_succeed_elsewhere_is_set_aside(queue: Queue) -> None:
    jobs = fail_on_the_first(queue)
    queue.passes(60)
    assert queue.states(*jobs) == ["succeeded"] * 8
    assert "failed on it within seconds" in queue.set_aside()["0"]
    assert "then succeeded on GPU 1" in queue.set_aside()["0"]
    assert any("GPU 0 stays set aside" in told for told in queue.told.sentences)


def test_two_failures_in_a_row_say_nothing_against_a_gpu(queue: Queue) -> None:
    jobs = fail_on_the_first(queue, count=4)
    queue.passes(60)
    assert sorted(queue.states(*jobs)) == ["failed", "failed", "succeeded", "succeeded"]
    assert queue.set_aside() == {}


def test_jobs_that_fail_elsewhere_too_clear_the_gpu(queue: Queue) -> None:
    first, good = queue.add(fails(after_s=1), gpus=1), queue.add(succeeds(after_s=2.5), gpus=1)
    bad = [first, *(queue.add(fails(after_s=1), gpus=1) for _ in range(2))]
    queue.passes(3)
    assert list(queue.set_aside()) == ["0"]
    queue.passes(5)
    assert queue.states(good, *bad) == ["succeeded", "failed", "failed", "failed"]
    assert [queue.gpus_of(job) for job in bad] == [["0", "1"]] * 3
    assert queue.set_aside() == {}
    assert any("fail elsewhere too" in told for told in queue.told.sentences)


def test_failures_that_took_long_say_nothing_against_a_gpu(queue: Queue) -> None:
    jobs = [queue.add(by_gpu({"0": fails(after_s=SLOWLY)}, succeeds(after_s=1)), gpus=1) for _ in range(10)]
    queue.passes(600)
    assert "failed" in queue.states(*jobs)
    assert queue.set_aside() == {}


def test_jobs_that_could_run_nowhere_else_say_nothing_against_a_gpu(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    whole = [queue.add(fails(after_s=1), gpus=2) for _ in range(4)]
    queue.passes(10)
    good = [queue.add(succeeds(after_s=1), gpus=1) for _ in range(3)]
    queue.passes(10)
    assert queue.states(*whole, *good) == ["failed"] * 4 + ["succeeded"] * 3
    assert queue.set_aside() == {}


def test_a_suspicion_ends_when_the_jobs_that_were_to_tell_are_killed(queue: Queue) -> None:
    jobs = fail_on_the_first(queue, 6, then=[runs()])
    queue.passes(3.5)
    assert list(queue.set_aside()) == ["0"]
    for job in jobs:
        queue.kill(job, at_once=True)
    queue.passes(5)
    assert queue.set_aside() == {}


@pytest.mark.no_cover  # hundreds of ticks
def test_a_suspicion_outlives_the_daemon_and_is_settled_by_the_next(queue: Queue) -> None:
    jobs = fail_on_the_first(queue, 6, then=[succeeds(after_s=50)])
    queue.passes(4)
    assert list(queue.set_aside()) == ["0"]
    queue.dies()
    queue.begin()
    queue.passes(300)
    assert queue.states(*jobs) == ["succeeded"] * 6
    assert "then succeeded" in queue.set_aside()["0"]
