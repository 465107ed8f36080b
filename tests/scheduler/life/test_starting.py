"""Between the order to start and the process: what is wished for meanwhile, and what becomes of it."""

from __future__ import annotations

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.scheduler.life.job_environment import extra_environment, free_port, launcher_environment
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.hosts import DAEMON
from tests.core.language import attempt, job
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, cannot_start, runs, slots, succeeds


def test_a_job_that_is_killed_before_its_process_is_there_is_asked_again_when_it_is(queue: Queue) -> None:
    job = queue.add(runs(starts_after_s=3), grace_s=10)
    queue.passes(1)
    assert queue.state(job) == "starting"
    queue.kill(job)
    queue.passes(1)
    assert queue.orders() == ["start 1", "stop 1 step 1"]
    queue.passes(1)
    assert queue.orders() == ["stop 1 step 1"]
    assert queue.state(job) == "killed"


def test_a_job_that_is_paused_before_its_process_is_there_is_paused_when_it_is(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=5, starts_after_s=3))
    queue.passes(1)
    queue.pause(job)
    queue.passes(100)
    assert queue.state(job) == "running"
    assert queue.orders() == ["start 1", "signal 1 19", "signal 1 19"]
    queue.resume(job)
    queue.passes(5)
    assert queue.state(job) == "succeeded"


def test_a_job_that_is_killed_and_then_cannot_be_started_is_killed_and_not_tried_again(queue: Queue) -> None:
    job = queue.add(cannot_start("No space left on device", try_later=True, starts_after_s=3))
    queue.passes(1)
    queue.kill(job)
    queue.passes(10)
    assert queue.state(job) == "killed"
    assert queue.booked() == {}
    assert queue.orders()[0] == "start 1"
    assert len(queue.attempts(job)) == 1


def test_a_job_that_was_ordered_when_the_host_died_goes_back_and_counts_no_attempt(queue: Queue) -> None:
    job = queue.add(succeeds(after_s=5, starts_after_s=3))
    queue.passes(1)
    queue.dies()
    queue.begin()
    queue.passes(20)
    assert queue.state(job) == "succeeded"
    assert [made.number for made in queue.attempts(job)] == [1]
    assert queue.orders() == ["start 1", "adopt 1", "start 1"]


def test_a_host_that_may_not_start_starts_nothing_and_then_all(queue: Queue) -> None:
    queue.host().loop.state.dispatching = False
    job = queue.add(succeeds())
    queue.passes(10)
    assert queue.state(job) == "queued"
    queue.host().loop.state.dispatching = True
    queue.passes(2)
    assert queue.state(job) == "succeeded"


# -- what it finds in its environment --------------------------------------------------------------------------------


def test_a_job_of_an_array_finds_its_index_as_with_slurm() -> None:
    extra = extra_environment(attempt(job(id=8, array_id=7, array_index=1)), "/folder")
    assert extra[b"DUCKROW_ARRAY_INDEX"] == extra[b"SLURM_ARRAY_TASK_ID"] == b"1"
    assert extra[b"DUCKROW_ARRAY_ID"] == extra[b"SLURM_ARRAY_JOB_ID"] == b"7"
    assert b"DUCKROW_ARRAY_INDEX" not in extra_environment(attempt(job(id=8)), "/folder")


@pytest.mark.parametrize(("written", "order"), [(None, b"PCI_BUS_ID"), ({}, None)])
def test_gpus_are_counted_by_the_bus_unless_the_user_counts_them(
    written: dict[str, str] | None, order: bytes | None
) -> None:
    extra = extra_environment(attempt(job()), "/folder", written)
    assert extra.get(b"CUDA_DEVICE_ORDER") == order


def test_only_a_job_on_several_gpus_is_told_where_its_processes_meet() -> None:
    one, two = (attempt(job(), holds=tuple((str(gpu), 1) for gpu in range(count))) for count in (1, 2))
    assert launcher_environment(one, lambda: 7) == {}
    told = launcher_environment(two, lambda: 7)
    assert told[b"PET_NPROC_PER_NODE"] == b"2"
    assert told[b"MASTER_PORT"] == told[b"PET_MASTER_PORT"] == b"7"


def test_no_two_launches_get_the_same_port() -> None:
    state = HostState(DAEMON, [])
    for _ in range(20):
        state.hand_out(free_port(state.ports))
    assert len(set(state.ports)) == 20


# -- cores and memory of the machine ---------------------------------------------------------------------------------


def test_jobs_wait_for_cores_and_memory_that_others_have_been_promised(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(4), cpus=8, mem_mb=64_000)
    cores = [queue.add(succeeds(after_s=10), needs=Needs(cpus=4)) for _ in range(3)]
    queue.passes(1)
    assert queue.states(*cores) == ["running", "running", "queued"]
    queue.passes(30)
    memory = [queue.add(succeeds(after_s=10), needs=Needs(mem_mb=30_000)) for _ in range(3)]
    queue.passes(1)
    assert queue.states(*memory) == ["running", "running", "queued"]
    queue.passes(10)
    assert queue.states(*memory) == ["succeeded", "succeeded", "running"]


def test_what_another_host_was_promised_is_not_given_out_again(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2), cpus=8, mem_mb=64_000)
    run = queue.begin_run(slots(2))
    first = queue.add(succeeds(after_s=10), needs=Needs(cpus=6), host_id=run)
    queue.passes(1)
    second = queue.add(succeeds(after_s=10), needs=Needs(cpus=6))
    queue.passes(1)
    assert queue.states(first, second) == ["running", "queued"]
    queue.passes(10)
    assert queue.states(first, second) == ["succeeded", "running"]
