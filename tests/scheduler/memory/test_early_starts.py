"""Jobs that take their memory late: once they are known, they start before there is room for their peak."""

from __future__ import annotations

import pytest

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.parameters import text_of
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.hosts import DAEMON
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, runs, succeeds

LATE = succeeds(after_s=40, gpu_mb=((0.0, 1000), (24.0, 15_000)))
OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def auto(seed: int) -> Needs:
    return Needs(auto=True, recipe="/train.py", parameters=text_of({"seed": str(seed)}))


def learned(make_queue: MakeQueue, policy: Policy | None = None) -> Queue:
    """The commands with seeds 0 and 1 have run, one after the other."""
    queue = make_queue(*gpus("24G"), **({} if policy is None else {"policy": policy}))
    for seed in range(2):
        queue.add(LATE, gpus=1, needs=auto(seed))
        queue.passes(44)
    return queue


@pytest.mark.no_cover  # hundreds of ticks
def test_it_starts_when_the_other_will_have_ended_before_it_grows(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(20)
    assert queue.states(first, second) == ["running", "queued"]
    queue.passes(19)
    assert queue.states(first, second) == ["running", "running"]
    assert queue.booked()["0"] <= WHOLE
    queue.passes(4)
    assert queue.states(first, second) == ["succeeded", "running"]
    assert queue.booked()["0"] > 15_000 * WHOLE // 24_576  # it has got the rest
    queue.passes(40)
    assert queue.state(second) == "succeeded"


@pytest.mark.no_cover  # hundreds of ticks
def test_beside_one_that_takes_longer_than_before_it_waits(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(runs(gpu_mb=((0.0, 1000), (38.0, 15_000))), gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(39)
    assert queue.states(first, second) == ["running", "queued"]


@pytest.mark.no_cover  # hundreds of ticks
def test_one_that_was_never_called_so_waits_for_its_peak(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    other = queue.add(LATE, gpus=1, needs=auto(7))
    queue.passes(39)
    assert queue.states(first, other) == ["running", "queued"]


@pytest.mark.no_cover  # hundreds of ticks
def test_one_that_ran_out_of_memory_is_not_started_early_again(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(fails(after_s=2, prints=OUT_OF_MEMORY), LATE, gpus=1, needs=auto(1))
    queue.passes(39)
    assert queue.states(first, second) == ["running", "queued"]
    assert len(queue.attempts(second)) == 1


@pytest.mark.no_cover  # hundreds of ticks
def test_where_reservations_are_enforced_none_starts_early(make_queue: MakeQueue) -> None:
    queue = learned(make_queue, Policy(enforce=True))
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(39)
    assert queue.states(first, second) == ["running", "queued"]


def test_the_late_joiner_gives_way_before_one_that_reserved_its_memory_runs_out(make_queue: MakeQueue) -> None:
    """The first seems to be nearly done, but begins once more: it will need all that it has reserved."""
    queue = learned(make_queue)
    first = queue.add(runs(gpu_mb=((0.0, 1000), (24.0, 15_000), (39.6, 1000), (120.0, 15_000))), gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(39)
    assert queue.states(first, second) == ["running", "running"]
    queue.passes(32)
    assert queue.states(first, second) == ["running", "queued"]
    assert [str(made.outcome) for made in queue.attempts(second)] == ["out-of-memory"]
    assert len(queue.attempts(first)) == 1


@pytest.mark.no_cover  # hundreds of ticks
def test_one_that_has_taken_nothing_gives_way_to_nobody(make_queue: MakeQueue) -> None:
    """A stranger takes what the first has reserved. To stop the second would give nothing back."""
    queue = make_queue(*gpus("24G"))
    does = [LATE, succeeds(after_s=120, gpu_mb=((0.0, 0), (100.0, 15_000)))]
    for seed, each in enumerate(does):
        queue.add(each, gpus=1, needs=auto(seed))
        queue.passes(124)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(does[1], gpus=1, needs=auto(1))
    queue.passes(18)
    assert queue.states(first, second) == ["running", "running"]
    queue.machine.foreign_mb["0"] = 12_000
    queue.passes(20)
    assert queue.states(first, second) == ["running", "running"]
    assert len(queue.attempts(second)) == 1


@pytest.mark.no_cover  # hundreds of ticks
def test_it_gets_the_rest_also_if_the_daemon_has_been_killed_in_the_meantime(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(39)
    queue.dies()
    queue.begin()
    third = queue.add(runs(gpu_mb=((0.0, 12_000),)), gpus=1, needs=Needs(12_000))
    queue.passes(4)
    assert queue.states(first, second, third) == ["succeeded", "running", "queued"]
    assert queue.booked()["0"] > 15_000 * WHOLE // 24_576


def test_what_is_owed_to_a_job_is_forgotten_when_it_has_got_it(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    first = queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    owed = ReservationStore(queue.database, DAEMON).owed
    queue.passes(39)
    assert owed(second) is not None
    queue.passes(4)
    assert queue.states(first, second) == ["succeeded", "running"]
    assert owed(second) is None


@pytest.mark.no_cover  # hundreds of ticks
def test_what_is_owed_to_a_job_is_forgotten_when_it_has_ended(make_queue: MakeQueue) -> None:
    queue = learned(make_queue)
    queue.add(LATE, gpus=1, needs=auto(0))
    second = queue.add(LATE, gpus=1, needs=auto(1))
    owed = ReservationStore(queue.database, DAEMON).owed
    queue.passes(39)
    assert owed(second) is not None
    queue.dies()
    queue.begin()
    queue.kill(second, at_once=True)
    queue.passes(1)
    assert queue.state(second) == "killed"
    assert owed(second) is None

    third = queue.add(LATE, gpus=1, needs=auto(1))
    queue.passes(8)
    assert queue.state(third) == "running"
    assert owed(third) is None
