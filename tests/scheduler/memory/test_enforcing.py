"""--enforce-memory: one that takes far more than it has reserved goes back to the queue, where others would suffer."""

from __future__ import annotations

from duckrow.core.devices.needs import Needs, with_margin
from duckrow.core.devices.policy import NO_POLICY
from duckrow.core.errors import EXIT_REQUEUE
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import gpus, runs, succeeds

ENFORCED = NO_POLICY.but(enforce=True)
GREEDY = ((0.0, 2000), (30.0, 18_000))


def test_it_is_requeued_with_what_it_really_needs(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"), policy=ENFORCED)
    greedy = queue.add(runs(gpu_mb=GREEDY, stop_exit_code=EXIT_REQUEUE), gpus=1, needs=Needs(gpu_mem_mb=3000))
    modest = queue.add(
        succeeds(after_s=100, gpu_mb=((0.0, 2000), (60.0, 14_000))), gpus=1, needs=Needs(gpu_mem_mb=15_000)
    )
    queue.passes(40)
    assert queue.states(greedy, modest) == ["queued", "running"]
    (first,) = queue.attempts(greedy)
    assert first.outcome == "out-of-memory"
    queue.passes(70)
    assert queue.states(greedy, modest) == ["running", "succeeded"]
    assert abs(queue.booked()["0"] * 24 * 1024 // 1_000_000 - with_margin(18_000)) <= 1


def test_one_that_is_in_nobodys_way_goes_on(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("80G"), policy=ENFORCED)
    greedy = queue.add(runs(gpu_mb=GREEDY), gpus=1, needs=Needs(gpu_mem_mb=3000))
    modest = queue.add(runs(gpu_mb=((0.0, 2000),)), gpus=1, needs=Needs(gpu_mem_mb=15_000))
    queue.passes(100)
    assert queue.states(greedy, modest) == ["running", "running"]


def test_without_the_option_nobody_is_stopped(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    greedy = queue.add(runs(gpu_mb=GREEDY), gpus=1, needs=Needs(gpu_mem_mb=3000))
    modest = queue.add(runs(gpu_mb=((0.0, 2000),)), gpus=1, needs=Needs(gpu_mem_mb=15_000))
    queue.passes(100)
    assert queue.states(greedy, modest) == ["running", "running"]
