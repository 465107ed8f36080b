"""Other people on the GPUs: who is waited for, who is not, and what is said of it."""

from __future__ import annotations

import itertools

import pytest

from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import Policy
from duckrow.core.memory.observation import LOOK_S
from duckrow.scheduler.devices import people
from duckrow.scheduler.devices.neighbours import why_nothing_starts
from duckrow.store.devices.readings import ReadingStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, gpus, runs, slots, succeeds

ANNA, OURSELVES = 4711, 0
_PIDS = itertools.count(1 << 24)  # nobody's


@pytest.fixture(autouse=True)
def who_is_who(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, str]]:
    """Process -> its user and program, as the kernel would say."""
    known: dict[int, tuple[int, str]] = {}
    monkeypatch.setattr(people, "uid_of", lambda pid: known[pid][0] if pid in known else None)
    monkeypatch.setattr(people, "program_of", lambda pid: known[pid][1] if pid in known else "")
    monkeypatch.setattr(people, "user_name", lambda uid: {ANNA: "anna", OURSELVES: "we"}[uid])
    monkeypatch.setattr("os.geteuid", lambda: OURSELVES)
    return known


class Somebody:
    """A program that is not ours to schedule."""

    def __init__(
        self, queue: Queue, known: dict[int, tuple[int, str]], gpu: str, uid: int, program: str = "python"
    ) -> None:
        self._there, self._pid = queue.machine.strangers_mb.setdefault(gpu, {}), next(_PIDS)
        known[self._pid] = (uid, program)
        self._there[self._pid] = 8000

    def goes(self) -> None:
        del self._there[self._pid]


Known = dict[int, tuple[int, str]]


def why(queue: Queue) -> str:
    loop = queue.host().loop
    return "; ".join(why_nothing_starts(loop.state, loop.watch))


def test_a_job_that_wants_a_whole_gpu_waits_for_other_people_and_says_for_whom(
    make_queue: MakeQueue, who_is_who: Known
) -> None:
    queue = make_queue(*gpus("24G"))
    anna = Somebody(queue, who_is_who, "0", ANNA)
    job = queue.add(runs(), gpus=1)
    queue.passes(20)
    assert queue.state(job) == "queued"
    assert "anna" in why(queue)
    assert "--share-gpus" in why(queue)
    anna.goes()
    queue.passes(30)
    assert queue.state(job) == "running"
    assert why(queue) == ""


def test_a_job_takes_the_gpu_that_nobody_uses(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    Somebody(queue, who_is_who, "0", ANNA)
    job = queue.add(runs(), gpus=1)
    queue.passes(10)
    assert queue.gpus_of(job) == ["1"]


def test_who_shares_gpus_waits_for_nobody(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G"), policy=Policy(share=True))
    Somebody(queue, who_is_who, "0", ANNA)
    job = queue.add(runs(), gpus=1)
    queue.passes(10)
    assert queue.state(job) == "running"
    assert queue.told.sentences == []


def test_a_program_of_ones_own_keeps_nobody_waiting_but_is_told_of(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G"))
    Somebody(queue, who_is_who, "0", OURSELVES, "jupyter")
    job = queue.add(runs(), gpus=1)
    queue.passes(10)
    assert queue.state(job) == "running"
    (note,) = [detail for detail in queue.details(job) if "GPU 0" in detail]
    assert "jupyter" in note
    assert [told for told in queue.told.sentences if "jupyter" in told and "Job 1" in told]


def test_a_display_keeps_a_gpu_from_nobody(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G"))
    Somebody(queue, who_is_who, "0", ANNA, "Xorg")
    job = queue.add(runs(), gpus=1)
    queue.passes(10)
    assert queue.state(job) == "running"


@pytest.mark.no_cover  # hundreds of ticks
def test_whoever_wants_only_idle_gpus_waits_for_ones_own_programs_too(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G"), policy=Policy(only_idle=True))
    own = Somebody(queue, who_is_who, "0", OURSELVES)
    job = queue.add(runs(), gpus=1)
    queue.passes(20)
    assert queue.state(job) == "queued"
    own.goes()
    queue.passes(120)
    assert queue.state(job) == "running"


def test_a_gpu_that_says_nothing_is_not_taken_for_free(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    queue.breaks("0", is_silent=True)
    job = queue.add(runs(), gpus=1)
    queue.passes(20)
    assert queue.state(job) == "queued"
    assert "GPU 0" in why(queue)
    queue.heals("0")
    queue.passes(20)
    assert queue.state(job) == "running"


def test_nothing_is_said_where_nobody_waits(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G"))
    assert why(queue) == ""
    queue.add(succeeds(after_s=1), gpus=1)
    queue.passes(10)
    assert why(queue) == ""


def test_who_looks_at_the_gpus_sees_whose_process_takes_what(make_queue: MakeQueue, who_is_who: Known) -> None:
    queue = make_queue(*gpus("24G"), policy=Policy(share=True))
    Somebody(queue, who_is_who, "0", ANNA)
    job = queue.add(runs(gpu_mb=((0.0, 3000),)), gpus=1)
    queue.passes(5)
    readings = ReadingStore(queue.database)
    assert readings.readings() == {}  # nobody has looked yet
    readings.look_until(queue.clock.now().mono + LOOK_S)
    queue.host().loop.state.wake()
    queue.passes(5)
    told = readings.readings()["0"].told
    assert {(each["job_id"], each["mb"]) for each in told["processes"]} == {(job, 3000), (None, 8000)}
    assert told["foreign_mb"] == 8000


def test_an_attempt_on_a_gpu_that_it_was_not_given_is_told_of_once(make_queue: MakeQueue) -> None:
    queue = make_queue(*gpus("24G", "24G"))
    job = queue.add(runs(gpu_mb=((0.0, 3000),), uses=("1",)), gpus=1)
    queue.passes(300)
    told = [sentence for sentence in queue.told.sentences if "GPU 1" in sentence]
    assert len(told) == 1
    assert "CUDA_VISIBLE_DEVICES" in told[0]
    assert "given GPU 0" in told[0]
    queue.dies()
    queue.begin()
    queue.passes(300)
    assert len([detail for detail in queue.details(job) if "CUDA_VISIBLE_DEVICES" in detail]) == 1
    assert [sentence for sentence in queue.told.sentences if "GPU 1" in sentence] == told


def test_an_attempt_without_a_gpu_that_uses_one_is_told_of(make_queue: MakeQueue) -> None:
    seats, memory_mb = gpus("24G")
    queue = make_queue([*seats, *slots(1)], memory_mb)
    job = queue.add(fails(after_s=200, gpu_mb=((0.0, 3000),), uses=("0",)), gpus=0)
    queue.passes(300)
    assert any("no GPU" in detail and "GPU 0" in detail for detail in queue.details(job))


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (Needs(cpus=3), "it needs 3 cores; 1 of 4 are free"),
        (Needs(mem_mb=6144), "it needs 6G of memory; 2G of 8G are free"),
    ],
)
def test_it_names_the_cores_or_the_memory_that_are_missing(make_queue: MakeQueue, needs: Needs, reason: str) -> None:
    queue = make_queue(slots(2), cpus=4, mem_mb=8192)
    for _ in range(2):
        queue.add(runs(), needs=needs)
    queue.passes(1)
    loop = queue.host().loop
    assert why_nothing_starts(loop.state, loop.watch) == [reason]
