"""Memory that is reserved for an attempt but not in use yet: the GPU stays locked for other duckrows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.core.memory.observation import FRESH_S
from duckrow.devices.locks.gpu_locks import GpuLocks
from duckrow.devices.locks.lock_patience import LONGEST_S
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, runs, succeeds

LOCK = "GPU-dry-0"  # what every duckrow on the machine calls GPU 0
PACKED = Needs(gpu_mem_mb=10_000)


@pytest.fixture
def queue(make_queue: MakeQueue) -> Queue:
    """With one GPU."""
    return make_queue(*gpus("24G"))


class AnotherDuckrow:
    """Of the same or another user, on the same machine."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._locks = GpuLocks("another state folder")

    def may_start(self) -> bool:
        """Whether GPU 0 is not locked. It lets go of it at once."""
        mono = self._queue.clock.now().mono
        refused = self._locks.take([LOCK], mono)
        self._locks.release([LOCK])
        return not refused

    def starts(self) -> None:
        mono = self._queue.clock.now().mono
        assert not self._locks.take([LOCK], mono)
        self._locks.reserve([LOCK], mono)

    def starts_another(self) -> None:
        self._locks.reserve([LOCK], self._queue.clock.now().mono)

    def is_seen(self) -> None:
        """Its memory is there for all to see."""
        self._locks.release([LOCK])


def test_a_gpu_is_locked_until_the_memory_of_a_new_job_can_be_seen(queue: Queue) -> None:
    another = AnotherDuckrow(queue)
    queue.add(runs(gpu_mb=((20.0, 9000),)), gpus=1, needs=PACKED)
    queue.passes(19)
    assert not another.may_start()
    queue.passes(1 + FRESH_S + 2)
    assert another.may_start()


def test_a_job_that_never_takes_its_memory_does_not_lock_others_out_for_ever(queue: Queue) -> None:
    another = AnotherDuckrow(queue)
    job = queue.add(runs(), gpus=1, needs=PACKED)
    queue.passes(5)
    assert not another.may_start()
    queue.passes(LONGEST_S + 5)
    assert queue.state(job) == "running"
    assert another.may_start()


def test_the_lock_goes_with_the_job(queue: Queue) -> None:
    another = AnotherDuckrow(queue)
    queue.add(succeeds(after_s=10), gpus=1, needs=PACKED)
    queue.passes(9)
    assert not another.may_start()
    queue.passes(5)
    assert another.may_start()


def test_the_next_host_locks_the_gpu_again_for_a_job_whose_memory_is_not_seen_yet(queue: Queue) -> None:
    another = AnotherDuckrow(queue)
    queue.add(runs(gpu_mb=((60.0, 9000),)), gpus=1, needs=PACKED)
    queue.passes(5)
    queue.host().loop.watch._unseen_memory._locks.release([LOCK])  # as the kernel does when a host dies
    queue.dies()
    assert another.may_start()
    queue.begin()
    queue.passes(10)
    assert not another.may_start()


def test_a_job_waits_while_another_duckrow_has_locked_the_gpu(queue: Queue) -> None:
    another = AnotherDuckrow(queue)
    another.starts()
    job = queue.add(runs(), gpus=1, needs=PACKED)
    queue.passes(20)
    assert queue.state(job) == "queued"
    another.is_seen()
    queue.passes(20)
    assert queue.state(job) == "running"


def test_a_duckrow_that_locks_a_gpu_again_and_again_is_ignored_after_two_minutes_and_told_of_once(
    queue: Queue,
) -> None:
    another = AnotherDuckrow(queue)
    job = queue.add(runs(gpu_mb=((0.0, 9000),)), gpus=1, needs=PACKED)
    another.starts()
    for _ in range(2):
        queue.passes(55)
        assert queue.state(job) == "queued"
        another.starts_another()
    queue.passes(30)
    assert queue.state(job) == "running"
    queue.add(runs(), gpus=1, needs=PACKED)
    queue.passes(20)
    assert len([told for told in queue.told.sentences if "GPU 0" in told and "ignored" in told]) == 1


def test_where_no_lock_can_be_made_people_are_told_once_and_jobs_run(
    queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("")
    monkeypatch.setenv(GPU_LOCKS, os.path.join(in_the_way, "locks"))
    jobs = [queue.add(runs(gpu_mb=((0.0, 9000),)), gpus=1, needs=PACKED) for _ in range(2)]
    queue.passes(60)
    assert queue.states(*jobs) == ["running", "running"]
    assert len([told for told in queue.told.sentences if "locked" in told]) == 1
