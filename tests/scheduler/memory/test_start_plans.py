"""Known jobs whose memory grows start when it was planned: the use of memory is level, and all end sooner."""

from __future__ import annotations

from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.parameters import text_of
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, succeeds

PEAK_MB = 7500  # of three, 24 GB have room
STAIRS = tuple((16.0 * number, PEAK_MB * number // 4) for number in range(5))
GROWS = succeeds(after_s=80, gpu_mb=STAIRS)
FAILS = fails(after_s=5, gpu_mb=STAIRS)


def auto(seed: int) -> Needs:
    return Needs(auto=True, recipe="/train.py", parameters=text_of({"seed": str(seed)}))


def learned(make_queue: MakeQueue, *names: str, policy: Policy | None = None) -> Queue:
    """The commands with seeds 0 to 3 have run, one after the other."""
    queue = make_queue(*gpus(*(names or ("24G",))), **({} if policy is None else {"policy": policy}))
    for seed in range(4):
        queue.add(GROWS, gpus=1, needs=auto(seed))
        queue.passes(84)
    return queue


def running(queue: Queue, jobs: list[int]) -> int:
    return queue.states(*jobs).count("running")


def test_one_waits_though_there_is_room_and_all_end_sooner(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    jobs = [queue.add(GROWS, gpus=1, needs=auto(seed)) for seed in range(4)]
    queue.passes(10)
    assert running(queue, jobs) < 3
    queue.passes(60)
    assert running(queue, jobs) == 4
    queue.passes(75)  # two waves would take 160 s
    assert queue.states(*jobs) == ["succeeded"] * 4
    assert [len(queue.attempts(job)) for job in jobs] == [1] * 4


def test_beside_one_that_was_never_called_so_each_starts_as_soon_as_there_is_room(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    jobs = [queue.add(GROWS, gpus=1, needs=auto(seed)) for seed in (0, 1, 2, 7)]
    queue.passes(10)
    assert running(queue, jobs) == 3


def test_where_reservations_are_enforced_nothing_is_planned(make_queue: MakeQueue) -> None:
    queue = learned(make_queue, policy=Policy(enforce=True))
    jobs = [queue.add(GROWS, gpus=1, needs=auto(seed)) for seed in range(4)]
    queue.passes(10)
    assert running(queue, jobs) == 3


def test_on_several_gpus_each_starts_as_soon_as_there_is_room(make_queue: MakeQueue) -> None:
    queue = learned(make_queue, "24G", "24G")
    jobs = [queue.add(GROWS, gpus=1, needs=auto(seed)) for seed in range(4)]
    queue.passes(10)
    assert running(queue, jobs) == 4


def test_when_those_that_run_end_sooner_than_planned_the_others_do_not_wait_for_their_time(
    make_queue: MakeQueue,
) -> None:
    queue = learned(make_queue)
    jobs = [queue.add(FAILS, gpus=1, needs=auto(seed)) for seed in range(4)]
    queue.passes(4)
    assert running(queue, jobs) < 3
    queue.passes(20)
    assert queue.states(*jobs) == ["failed"] * 4


def test_the_next_host_plans_anew(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    jobs = [queue.add(GROWS, gpus=1, needs=auto(seed)) for seed in range(4)]
    queue.passes(10)
    queue.dies()
    queue.begin()
    queue.passes(4)
    assert running(queue, jobs) < 3
    queue.passes(131)
    assert queue.states(*jobs) == ["succeeded"] * 4
