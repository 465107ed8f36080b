"""Jobs that share GPUs by memory: packed by what they ask for, kept apart by what is seen, tried again with more."""

from __future__ import annotations

from duckrow.core.devices.needs import Needs
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import fails, gpus, runs, succeeds

OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def takes(mb: int) -> tuple[tuple[float, int], ...]:
    """From its start on."""
    return ((0.0, mb),)


def test_jobs_share_a_gpu_as_far_as_its_memory_goes(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(runs(gpu_mb=takes(9000)), gpus=1, needs=Needs(gpu_mem_mb=10_000)) for _ in range(3)]
    queue.passes(30)
    assert queue.states(*jobs) == ["running", "running", "queued"]


def test_a_job_waits_for_memory_that_others_use(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.machine.foreign_mb["0"] = 20_000
    job = queue.add(runs(), gpus=1, needs=Needs(gpu_mem_mb=10_000))
    queue.passes(30)
    assert queue.state(job) == "queued"
    queue.machine.foreign_mb["0"] = 0
    queue.passes(1)
    assert queue.state(job) == "running"


def test_a_job_that_ran_out_of_memory_is_tried_again_with_more(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    does = fails(after_s=5, prints=OUT_OF_MEMORY, gpu_mb=takes(4000)), succeeds(after_s=5, gpu_mb=takes(6000))
    job = queue.add(*does, gpus=1, needs=Needs(gpu_mem_mb=4000))
    queue.passes(3)
    first = queue.booked()["0"]
    queue.passes(6)
    assert queue.state(job) == "running"
    assert queue.booked()["0"] > first
    queue.passes(10)
    assert queue.state(job) == "succeeded"
    assert [str(made.outcome) for made in queue.attempts(job)] == ["out-of-memory", "succeeded"]


def test_what_a_job_took_at_most_is_known_when_it_has_ended(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    grows = succeeds(after_s=60, gpu_mb=((0.0, 1000), (30.0, 5000), (50.0, 2000)))
    job = queue.add(grows, gpus=1, needs=Needs(gpu_mem_mb=8000))
    queue.passes(100)
    assert queue.state(job) == "succeeded"
    assert queue.attempts(job)[0].peak_memory_mb == 5000


def test_a_job_that_wants_a_whole_gpu_gets_one_without_any_other(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    packed = queue.add(runs(gpu_mb=takes(1000)), gpus=1, needs=Needs(gpu_mem_mb=2000))
    queue.passes(10)
    whole = [queue.add(runs(gpu_mb=takes(1000)), gpus=1) for _ in range(2)]
    queue.passes(10)
    assert queue.states(packed, *whole) == ["running", "running", "queued"]
