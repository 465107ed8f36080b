"""Devices that come and go while the daemon runs."""

from __future__ import annotations

from duckrow.core.life.wishes import DeviceWish
from duckrow.store.hosts import DAEMON, HostStore, seats_from
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, gpus, runs, succeeds


def wished(queue: Queue) -> int:
    """How many wishes about devices stand."""
    return int(queue.database.one("SELECT count(*) FROM device_wishes"))


def devices(queue: Queue) -> list[str]:
    """As the next daemon would find them."""
    return [",".join(seat.devices) for seat in seats_from(HostStore(queue.database).get(DAEMON).seats)]


def test_the_job_on_a_drained_gpu_goes_on_and_the_next_one_waits(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    first, second = queue.add(succeeds(after_s=10)), queue.add()
    queue.passes(5)
    queue.drain("0")
    queue.passes(60)
    assert queue.states(first, second) == ["succeeded", "queued"]
    assert wished(queue) == 1, "it stays drained until somebody takes that back"
    queue.drain("0", None)
    queue.passes(5)
    assert queue.state(second) == "succeeded"


def test_a_gpu_is_removed_the_moment_that_its_last_job_ends(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    jobs = [queue.add(succeeds(after_s=10)), queue.add(runs())]
    queue.passes(5)
    (gone,) = queue.gpus_of(jobs[0])
    queue.drain(gone, DeviceWish.REMOVE)
    queue.passes(1)
    assert (sorted(devices(queue)), wished(queue)) == (["0", "1"], 1)
    queue.passes(10)
    assert (devices(queue), wished(queue)) == (queue.gpus_of(jobs[1]), 0)
    assert queue.states(*jobs) == ["succeeded", "running"]


def test_a_gpu_that_is_added_gets_the_job_that_waited(make_queue: MakeQueue) -> None:
    seats, sizes_mb = gpus("24G", "24G")
    queue = make_queue(seats[:1], sizes_mb)
    jobs = [queue.add(runs()), queue.add(runs())]
    queue.passes(5)
    queue.drain("1", DeviceWish.ADD)
    queue.passes(5)
    assert queue.states(*jobs) == ["running", "running"]
    assert (queue.gpus_of(jobs[1]), devices(queue), wished(queue)) == (["1"], ["1", "0"], 0)


def test_what_is_there_is_not_added_twice_and_what_is_not_there_is_not_removed(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.drain("0", DeviceWish.ADD)
    queue.drain("7", DeviceWish.REMOVE)
    queue.passes(1)
    assert (devices(queue), wished(queue)) == (["0"], 0)
