"""Jobs that share GPUs by memory: packed by what they ask for, kept apart by what is seen, tried again with more."""

from __future__ import annotations

from random import Random

import pytest

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Needs, with_margin
from duckrow.core.memory.parameters import text_of
from duckrow.store.devices.peaks import PeakStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, runs, succeeds

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


# -- each job by what it takes itself --------------------------------------------------------------------------------


def sized(size: int) -> Needs:
    return Needs(auto=True, recipe="/train.py", parameters=text_of({"size": str(size), "seed": str(size * 7)}))


def reserved_mb(queue: Queue, job: int, total_mb: int) -> int:
    """Of a GPU of this size."""
    (attempt,) = [attempt for attempt in queue.host().loop.state.live.values() if attempt.job.id == job]
    ((_, share),) = attempt.holds
    return share * total_mb // WHOLE


@pytest.mark.no_cover  # hundreds of ticks
def test_jobs_of_one_script_reserve_each_what_it_takes_itself(make_queue: MakeQueue) -> None:
    sizes = Random().sample(range(2, 30), 12)
    queue = make_queue(*gpus("400G"))
    total_mb = queue.machine.gpus_mb["0"]
    for size in sizes:
        queue.add(succeeds(after_s=10, gpu_mb=takes(1000 * size)), gpus=1, needs=sized(size))
        queue.passes(1000)
    again = [queue.add(runs(gpu_mb=takes(1000 * size)), gpus=1, needs=sized(size)) for size in sizes]
    queue.passes(5)
    assert queue.states(*again) == ["running"] * 12
    for job, size in zip(again, sizes, strict=True):
        assert abs(reserved_mb(queue, job, total_mb) - with_margin(1000 * size, is_same=True)) <= 1


@pytest.mark.no_cover  # hundreds of ticks
def test_a_size_between_those_that_were_seen_reserves_no_more_than_the_next_one(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("400G"))
    for size in (2, 4, 8, 16, 30, 40, 50):
        queue.add(succeeds(after_s=10, gpu_mb=takes(1000 * size)), gpus=1, needs=sized(size))
        queue.passes(1000)
    new = queue.add(runs(gpu_mb=takes(6000)), gpus=1, needs=sized(6)._replace(deciding="size"))
    queue.passes(5)
    assert abs(reserved_mb(queue, new, queue.machine.gpus_mb["0"]) - with_margin(8000)) <= 1


def test_a_run_is_counted_once_though_it_was_flat_before_it_ended(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.add(succeeds(after_s=60, gpu_mb=takes(3000)), gpus=1, needs=sized(3))
    queue.passes(1000)
    (peak,) = PeakStore(queue.database).all()
    assert (peak.peak_mb, peak.runs) == (3000, 1)


def test_one_that_ran_out_asks_for_what_others_of_its_recipe_take(make_queue: MakeQueue) -> None:
    """They claim far too little: who runs out next need not double that again and again."""
    queue = make_queue(*gpus("80G", "80G"))
    claims = Needs(gpu_mem_mb=5_000, recipe="/train.py")
    queue.add(runs(gpu_mb=takes(30_000)), gpus=1, needs=claims)
    queue.passes(10)
    runs_out = fails(after_s=5, prints=OUT_OF_MEMORY, gpu_mb=takes(5_000)), runs(gpu_mb=takes(30_000))
    job = queue.add(*runs_out, gpus=1, needs=claims)
    queue.passes(20)
    assert queue.state(job) == "running"
    assert abs(reserved_mb(queue, job, queue.machine.gpus_mb["0"]) - with_margin(30_000)) <= 1
