"""Jobs of which nothing is known: tried out together while little can be lost, and never where others could be hurt."""

from __future__ import annotations

import pytest

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Needs, with_margin
from duckrow.core.memory.parameters import text_of
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, runs, succeeds

OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def auto(recipe: str = "/train.py", size: int = 1) -> Needs:
    return Needs(auto=True, recipe=recipe, parameters=text_of({"size": str(size)}))


def running(queue: Queue, jobs: list[int]) -> int:
    return queue.states(*jobs).count("running")


def test_jobs_of_which_nothing_is_known_start_together(make_queue: MakeQueue) -> None:
    """Of one kind or of several, as many as have room if each is as likely to take more than its part as less."""
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(runs(), gpus=1, needs=auto(f"/{number % 2}.py")) for number in range(20)]
    queue.passes(1)
    assert running(queue, jobs) == 6


def test_all_of_them_start_if_that_saves_a_second_wave(make_queue: MakeQueue) -> None:
    """One by one or all at once. Of more, six start as before: a second wave would be at least half full."""
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(runs(), gpus=1, needs=auto()) for _ in range(3)]
    queue.passes(1)
    jobs += [queue.add(runs(), gpus=1, needs=auto()) for _ in range(6)]
    queue.passes(1)
    assert running(queue, jobs) == 9
    jobs += [queue.add(runs(), gpus=1, needs=auto()) for _ in range(4)]
    queue.passes(1)
    assert running(queue, jobs) == 9


def test_they_spread_over_the_gpus(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    jobs = [queue.add(runs(), gpus=1, needs=auto()) for _ in range(4)]
    queue.passes(1)
    assert running(queue, jobs) == 4
    assert queue.booked()["0"] == queue.booked()["1"]


def test_they_are_no_more_than_the_cores_can_serve(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("80G"), cpus=5)
    jobs = [queue.add(runs(), gpus=1, needs=auto()) for _ in range(12)]
    queue.passes(1)
    assert running(queue, jobs) == 10


@pytest.mark.no_cover  # hundreds of ticks
def test_none_starts_beside_a_job_that_is_known(make_queue: MakeQueue) -> None:
    """That may have run for hours: it must not run out of memory because of one that nobody knows."""
    queue = make_queue(*gpus("24G"))
    known = queue.add(runs(gpu_mb=((0.0, 2000),)), gpus=1, needs=Needs(gpu_mem_mb=3000))
    queue.passes(5)
    unknown = queue.add(runs(), gpus=1, needs=auto())
    queue.passes(100)
    assert queue.states(known, unknown) == ["running", "queued"]


def test_beside_other_people_one_is_tried_out_alone(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.machine.foreign_mb["0"] = 3000
    jobs = [queue.add(runs(gpu_mb=((0.0, 2000),)), gpus=1, needs=auto()) for _ in range(2)]
    queue.passes(2)
    assert queue.states(*jobs) == ["running", "queued"]
    assert queue.booked()["0"] == WHOLE


def test_one_that_still_grows_after_a_minute_is_joined_by_none_that_is_unknown(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    grows = tuple((float(second), 100 * second) for second in range(0, 200, 2))
    first = queue.add(runs(gpu_mb=grows), gpus=1, needs=auto())
    queue.passes(65)
    second = queue.add(runs(), gpus=1, needs=auto("/other.py"))
    queue.passes(5)
    assert queue.states(first, second) == ["running", "queued"]


def test_the_next_of_a_kind_that_imports_for_long_start_as_soon_as_memory_is_seen(make_queue: MakeQueue) -> None:
    """They use no memory for as long as the first ones did, and by then it is known whether those have grown."""
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(runs(gpu_mb=((5.0, 1000),)), gpus=1, needs=auto()) for _ in range(14)]
    queue.passes(5.5)
    assert running(queue, jobs) == 6
    queue.passes(1.5)
    assert running(queue, jobs) == 14


def test_beside_another_kind_the_next_wait_until_their_memory_is_flat(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    jobs = [queue.add(runs(gpu_mb=((5.0, 1000),)), gpus=1, needs=auto()) for _ in range(13)]
    queue.add(runs(), gpus=1, needs=auto("/other.py"))
    queue.passes(7.5)
    assert running(queue, jobs) == 6
    queue.passes(1.5)
    assert running(queue, jobs) == 13


def test_growth_in_stairs_is_not_taken_for_its_end(make_queue: MakeQueue) -> None:
    """It has grown after a rest of four seconds before: the next such rest says nothing."""
    queue = make_queue(*gpus("24G"))
    stairs = ((0.0, 2000), (2.5, 4000), (6.5, 8000))
    queue.add(runs(gpu_mb=stairs), gpus=1, needs=auto())
    queue.passes(12)
    assert queue.booked()["0"] == queue.known.guess_of("0")
    queue.passes(6)
    assert abs(queue.booked()["0"] * 24 * 1024 // WHOLE - with_margin(8000)) <= 1


def test_what_one_that_runs_takes_more_is_known_at_once(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("80G"))
    queue.add(succeeds(after_s=10, gpu_mb=((0.0, 5000),)), gpus=1, needs=auto(size=1))
    queue.passes(20)
    queue.add(runs(gpu_mb=((0.0, 30_000),)), gpus=1, needs=auto(size=2))
    queue.passes(5)
    before = queue.booked()["0"]
    queue.add(runs(), gpus=1, needs=auto(size=3))
    queue.passes(5)
    assert abs((queue.booked()["0"] - before) * 80 * 1024 // WHOLE - with_margin(30_000)) <= 1


def test_one_that_claims_less_than_the_same_command_took_reserves_what_that_took(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("80G"))
    claims = Needs(gpu_mem_mb=5_000, recipe="/train.py")
    queue.add(succeeds(after_s=10, gpu_mb=((0.0, 30_000),)), gpus=1, needs=claims)
    queue.passes(20)
    jobs = [queue.add(runs(gpu_mb=((0.0, 30_000),)), gpus=1, needs=claims) for _ in range(3)]
    queue.passes(20)
    assert queue.states(*jobs) == ["running", "running", "queued"]


def test_nobody_moves_in_beside_one_that_outgrows_what_was_expected(make_queue: MakeQueue) -> None:
    """It may take as much again, and then one of the two would run out of memory."""
    queue = make_queue(*gpus("80G"))
    outgrows = ((0.0, 15_000), (20.0, 30_000), (40.0, 60_000))
    queue.add(runs(gpu_mb=outgrows), gpus=1, needs=Needs(gpu_mem_mb=5_000))
    queue.passes(21)
    late = queue.add(runs(), gpus=1, needs=Needs(gpu_mem_mb=25_000))
    queue.passes(5)
    assert queue.state(late) == "queued"


def test_one_that_was_tried_out_and_ran_out_asks_for_what_its_kind_takes(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.add(runs(gpu_mb=((0.0, 9000),)), gpus=1, needs=auto())
    runs_out = fails(after_s=3, prints=OUT_OF_MEMORY, gpu_mb=((0.0, 4000),)), runs(gpu_mb=((0.0, 9000),))
    job = queue.add(*runs_out, gpus=1, needs=auto())
    queue.passes(20)
    assert queue.state(job) == "running"
    assert queue.attempts(job)[0].outcome == "out-of-memory"
    assert abs(queue.booked()["0"] * 24 * 1024 // WHOLE - 2 * with_margin(9000)) <= 2


def test_where_the_memory_cannot_be_read_one_is_alone(make_queue: MakeQueue) -> None:
    """Nobody would ever know how much they take."""
    seats, sizes = gpus("24G")
    queue = make_queue(seats, sizes)
    queue.machine.gpus_mb.clear()  # the user has said how large it is, and there is no library to ask
    jobs = [queue.add(runs(), gpus=1, needs=auto()) for _ in range(3)]
    queue.passes(100)
    assert running(queue, jobs) <= 1


@pytest.mark.no_cover  # hundreds of ticks
def test_one_that_ran_out_waits_for_what_the_same_command_takes_by_now(make_queue: MakeQueue) -> None:
    """It ran out when the other had taken little: what it asks for grows with what is seen."""
    queue = make_queue(*gpus("80G"))
    claims = Needs(gpu_mem_mb=5_000, recipe="/train.py")
    queue.add(runs(gpu_mb=((0.0, 6_000), (8.0, 20_000), (16.0, 40_000))), gpus=1, needs=claims)
    short = fails(after_s=6, prints=OUT_OF_MEMORY, gpu_mb=((0.0, 6_000),))
    job = queue.add(short, runs(gpu_mb=((0.0, 40_000),)), gpus=1, needs=claims)
    blocking = queue.add(succeeds(after_s=60, gpu_mb=((0.0, 20_000),)), gpus=1, needs=Needs(gpu_mem_mb=70_000))
    queue.passes(58)
    assert queue.states(job, blocking) == ["queued", "running"]
    queue.passes(30)
    assert queue.state(job) == "queued"  # 40 GB and a margin beside 40 GB are more than there is
