"""Jobs that ran out of memory: retried with more of it, until no more is available."""

from __future__ import annotations

from signal import SIGKILL

import pytest

from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.units import format_mb
from duckrow.store.devices.peaks import PeakStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, dies_of, fails, gpus, runs, slots, succeeds

OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
RUNS_OUT = fails(after_s=1, prints=OUT_OF_MEMORY)


def needs(queue: Queue, job: int) -> Needs:
    """As the job will ask next."""
    return needs_from(queue.database.one("SELECT needs FROM jobs WHERE id = ?", (job,)))


def ends(queue: Queue, job: int) -> list[str]:
    return [str(made.outcome) for made in queue.attempts(job)]


def last_detail(queue: Queue, job: int) -> str:
    return queue.attempts(job)[-1].detail


# -- of GPUs ----------------------------------------------------------------------------------------------------------


def test_beside_others_it_gets_twice_as_much_each_time_and_then_a_gpu_to_itself(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    short = fails(after_s=1, prints="torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
    job = queue.add(short, short, short, short, succeeds(), gpus=1, needs=Needs(gpu_mem_mb=1000))
    queue.passes(60)
    told = [made.detail for made in queue.attempts(job)]
    assert [format_mb(mb) in detail for mb, detail in zip((1999, 3999, 7998), told, strict=False)] == [True] * 3
    assert "to itself" in told[3]
    assert (needs(queue, job).alone, needs(queue, job).gpu_mem_mb) == (True, None)
    assert ends(queue, job) == ["out-of-memory"] * 4 + ["succeeded"]


def test_alone_on_the_largest_gpu_there_is_nothing_left_to_try(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    job = queue.add(RUNS_OUT, gpus=1, retries=5)
    queue.passes(20)
    assert queue.state(job) == "out-of-memory"
    assert ends(queue, job) == ["out-of-memory"]
    assert "alone on GPU 0 of 24G" in last_detail(queue, job)


def test_alone_on_a_small_gpu_it_is_tried_again_on_a_larger_one(make_queue: MakeQueue) -> None:
    seats, memory_mb = gpus("8G", "24G")
    queue = make_queue(seats, memory_mb)
    job = queue.add(RUNS_OUT, succeeds(), gpus=1)
    queue.passes(20)
    assert queue.state(job) == "succeeded"
    assert queue.gpus_of(job) == ["0", "1"]
    assert any("more than 8G" in detail for detail in queue.details(job))


@pytest.mark.no_cover  # hundreds of ticks
def test_while_others_use_the_gpu_it_waits_for_one_that_has_more_free(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.machine.foreign_mb["0"] = 10_000
    job = queue.add(fails(after_s=5, prints=OUT_OF_MEMORY), succeeds(), gpus=1, needs=Needs(auto=True, recipe="r"))
    queue.passes(60)
    assert queue.state(job) == "queued"
    assert needs(queue, job).alone
    assert any("free" in detail and "GPU memory" in detail for detail in queue.details(job))
    queue.machine.foreign_mb["0"] = 0
    queue.passes(60)
    assert queue.state(job) == "succeeded"


def test_one_that_shares_a_total_gets_twice_as_much_in_all(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    job = queue.add(RUNS_OUT, succeeds(), needs=Needs(total_gpu_mem_mb=8000))
    queue.passes(30)
    assert queue.state(job) == "succeeded"
    assert needs(queue, job).total_gpu_mem_mb == 16_000
    assert any("in total" in detail for detail in queue.details(job))


def test_a_job_without_a_gpu_gets_none_for_it(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    job = queue.add(RUNS_OUT, gpus=0)
    queue.passes(20)
    assert queue.state(job) == "out-of-memory"
    assert "no GPU" in last_detail(queue, job)


def test_one_that_is_stopped_while_it_runs_out_is_not_tried_again(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    stops = runs(stops_after_s=1.0, stop_exit_code=1, prints=OUT_OF_MEMORY)
    job = queue.add(stops, gpus=1, needs=Needs(gpu_mem_mb=1000))
    queue.passes(5)
    queue.kill(job)
    queue.passes(60)
    assert ends(queue, job) == ["killed"]


# -- of the machine ---------------------------------------------------------------------------------------------------

KILLED_BY_KERNEL = dies_of(SIGKILL, oom_killed=True)


def test_the_kernel_killed_it_so_it_gets_twice_the_memory_of_the_machine(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1), mem_mb=64_000, cpus=8)
    job = queue.add(KILLED_BY_KERNEL, succeeds(), needs=Needs(mem_mb=8000))
    queue.passes(20)
    assert ends(queue, job) == ["out-of-memory", "succeeded"]
    assert needs(queue, job).mem_mb == 16_000


def test_one_that_had_all_of_the_machine_is_not_tried_again(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1), mem_mb=64_000, cpus=8)
    job = queue.add(KILLED_BY_KERNEL, needs=Needs(mem_mb=64_000))
    queue.passes(20)
    assert ends(queue, job) == ["out-of-memory"]
    assert "there is no more here" in last_detail(queue, job)


@pytest.mark.parametrize(
    ("of_job", "of_machine", "outcome"),
    [(None, True, "out-of-memory"), (None, False, "killed"), (False, True, "killed"), (True, False, "out-of-memory")],
)
def test_what_the_kernel_says_of_the_job_counts_before_what_it_says_of_the_machine(
    make_queue: MakeQueue, of_job: bool | None, of_machine: bool, outcome: str
) -> None:
    queue = make_queue(slots(1))
    queue.machine.ran_out_of_memory = of_machine
    job = queue.add(dies_of(SIGKILL, oom_killed=of_job))
    queue.passes(5)
    assert queue.state(job) == outcome


# -- what similar jobs learn from it ----------------------------------------------------------------------------------


def peaks(queue: Queue) -> dict[str, int]:
    return {recipe: peak.peak_mb for (recipe, _), peak in PeakStore(queue.database).known().peaks.items()}


def test_what_a_job_took_is_learned_when_it_succeeds_and_not_when_it_fails(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    takes = ((0.0, 3000),)
    queue.add(succeeds(after_s=10, gpu_mb=takes), gpus=1, needs=Needs(gpu_mem_mb=6000, recipe="good"))
    queue.add(fails(after_s=10, gpu_mb=takes), gpus=1, needs=Needs(gpu_mem_mb=6000, recipe="bad"))
    queue.passes(60)
    assert peaks(queue) == {"good": 3000}


def test_the_next_of_a_recipe_gets_what_the_first_has_taken(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    auto = Needs(auto=True, recipe="train")
    first = queue.add(succeeds(after_s=10, gpu_mb=((0.0, 5000),)), gpus=1, needs=auto)
    queue.passes(2)
    assert queue.booked()["0"] == queue.known.guess_of("0")  # as long as nobody knows
    queue.passes(20)
    assert queue.state(first) == "succeeded"
    three = [queue.add(runs(gpu_mb=((0.0, 5000),)), gpus=1, needs=auto) for _ in range(3)]
    queue.passes(30)
    assert queue.states(*three) == ["running"] * 3


def test_a_job_whose_memory_no_longer_grows_makes_room_for_others(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    auto = Needs(auto=True, recipe="train")
    jobs = [queue.add(runs(gpu_mb=((0.0, 700),)), gpus=1, needs=auto) for _ in range(20)]
    queue.passes(2)
    assert queue.states(*jobs).count("running") == 6
    queue.passes(60)
    assert queue.states(*jobs) == ["running"] * 20
    assert peaks(queue) == {"train": 700}
    assert queue.booked()["0"] < 1_000_000


def test_similar_jobs_need_not_find_out_one_by_one_how_much_is_too_little(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    short = fails(after_s=5, prints=OUT_OF_MEMORY, gpu_mb=((0.0, 4000),))
    job = queue.add(short, succeeds(), gpus=1, needs=Needs(gpu_mem_mb=4000, recipe="train"))
    queue.passes(30)
    assert queue.state(job) == "succeeded"
    assert peaks(queue)["train"] >= 4000


def test_one_that_ran_out_tells_how_much_was_too_little_and_not_how_much_is_enough(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    short = fails(after_s=5, prints=OUT_OF_MEMORY, gpu_mb=((0.0, 4000),))
    queue.add(short, runs(), gpus=1, needs=Needs(gpu_mem_mb=4000, recipe="train"))
    queue.passes(30)
    assert peaks(queue)["train"] >= 4000
    assert queue.database.one("SELECT count(*) FROM recipe_runs") == 0


@pytest.mark.no_cover  # hundreds of ticks
def test_what_was_seen_of_a_job_outlives_the_host(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    high_at_first = succeeds(after_s=400, gpu_mb=((0.0, 9000), (100.0, 1000)))
    job = queue.add(high_at_first, gpus=1, needs=Needs(gpu_mem_mb=10_000))
    queue.passes(200)
    queue.dies()
    queue.begin()
    queue.passes(300)
    assert queue.state(job) == "succeeded"
    assert queue.attempts(job)[0].peak_memory_mb == 9000
