"""Why a job is not running, in words."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import WHOLE, Ledger, book
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.neighbours import Neighbour
from duckrow.core.devices.policy import Policy
from duckrow.core.life.dependencies import ANY, FAILED, OK, AwaitedJob
from duckrow.core.memory.observation import Observation
from duckrow.core.schedule.backfill import Turn
from duckrow.core.schedule.decide import CORES, MEMORY
from duckrow.core.schedule.explain import SOON, Holder, WaitingJob, explain
from tests.core.language import cpus, gpus, groups, side_cpus


def waiting(gpu_count: int | None = None, **fields: Any) -> WaitingJob:
    """A job that could start now, except for what the test changes. There are two GPUs."""
    free: dict[str, Any] = {
        "held": False,
        "wait_s": None,
        "paused": None,
        "waits_for": (),
        "limit": None,
        "ended_run": None,
        "daemon_runs": True,
        "seats": tuple(gpus(2)),
        "drained": frozenset(),
        "booked": Ledger(),
        "holders": (),
        "turn": Turn(99),
        "ahead": (),
        "ahead_count": 0,
    }
    return WaitingJob(**{"ask": Ask(gpu_count), **free, **fields})


def test_a_job_that_nothing_holds_up_can_start_now() -> None:
    assert explain(waiting()) == [SOON]
    assert explain(waiting(2)) == [SOON]


def test_a_job_that_shares_a_gpu_with_others_may_wait_for_its_planned_time() -> None:
    """Only its host knows the plan."""
    holders, machine = (Holder(Device("0"), 9, "train", 60.0),), Machine({"0": 24_000, "1": 24_000})
    (told,) = explain(waiting(ask=Ask(1, mb=6000), machine=machine, holders=holders))
    assert told.startswith("there is room for it now")
    assert explain(waiting(ask=Ask(1, mb=6000), machine=machine)) == [SOON]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"held": True}, "it is held: duckrow release 99"),
        ({"wait_s": 90.0}, "it starts in 1m 30s (--begin)"),
        ({"wait_s": 90.0, "is_retry": True}, "it is tried again in 1m 30s"),
        ({"paused": ""}, "everything is paused: duckrow resume"),
        ({"paused": "thesis"}, "thesis is paused: duckrow resume --project thesis"),
        ({"waits_for": (AwaitedJob(12, OK),)}, "it waits for job 12 to succeed"),
        ({"waits_for": (AwaitedJob(12, ANY),)}, "it waits for job 12 to end"),
        ({"waits_for": (AwaitedJob(12, FAILED),)}, "it waits for job 12 to fail"),
        ({"limit": ("thesis", 2, 2)}, "thesis may run 2 jobs at a time, and 2 are running"),
        ({"limit": ("thesis", 1, 3)}, "thesis may run 1 job at a time, and 3 are running"),
        ({"limit": ("thesis", 0, 0)}, "thesis may run 0 jobs at a time, and 0 are running"),
        ({"ended_run": ("run-7", "duckrow go")}, "it belongs to the run run-7, which has ended: duckrow go"),
        ({"daemon_runs": False}, "the daemon is not running: duckrow up"),
    ],
)
def test_each_reason_is_told_in_words(fields: dict[str, Any], reason: str) -> None:
    assert explain(waiting(**fields)) == [reason]


@pytest.mark.parametrize("fields", [{"wait_s": 0.0}, {"wait_s": -5.0}, {"limit": ("thesis", 2, 1)}])
def test_what_is_over_is_no_reason(fields: dict[str, Any]) -> None:
    assert explain(waiting(**fields)) == [SOON]


def test_all_reasons_are_told_and_what_a_person_wants_comes_first() -> None:
    everything = waiting(
        held=True,
        wait_s=5.0,
        paused="thesis",
        waits_for=(AwaitedJob(12, OK), AwaitedJob(13, ANY)),
        limit=("thesis", 1, 1),
        daemon_runs=False,
    )
    assert explain(everything) == [
        "it is held: duckrow release 99",
        "it starts in 5.0s (--begin)",
        "thesis is paused: duckrow resume --project thesis",
        "it waits for job 12 to succeed",
        "it waits for job 13 to end",
        "thesis may run 1 job at a time, and 1 is running",
        "the daemon is not running: duckrow up",
    ]


def test_a_job_of_a_run_that_is_over_does_not_wait_for_the_daemon() -> None:
    (reason,) = explain(waiting(ended_run=("run-7", "duckrow go"), daemon_runs=False))
    assert "run-7" in reason


def test_devices_are_no_reason_while_a_person_must_act() -> None:
    assert explain(waiting(held=True, booked={"0": WHOLE, "1": WHOLE}, ahead_count=9)) == [
        "it is held: duckrow release 99"
    ]


def test_a_job_that_could_never_start_is_told_what_there_is() -> None:
    (reason,) = explain(waiting(3))
    assert reason.startswith("it can never start as things are. It asks for 3 GPUs, but there are 2: 0, 1.")
    assert "drained" not in reason


def test_a_job_that_could_never_start_for_a_drain_is_told_which() -> None:
    (reason,) = explain(waiting(2, drained=frozenset({"1"})))
    assert reason.startswith("it can never start as things are. It asks for 2 GPUs, but there is 1: 0.")
    assert reason.endswith("(1 drained)")


def test_a_gpu_that_is_set_aside_is_told_with_what_to_type() -> None:
    told = "GPU 1 is set aside: it fell off the bus; to use it again: duckrow gpus add 1"
    broken = {"1": "it fell off the bus"}
    assert explain(waiting(1, set_aside=broken, booked={"0": WHOLE})) == ["it needs 1 GPU; 0 of 1 are free", told]
    assert explain(waiting(2, set_aside=broken))[1:] == [told]  # it could never start so
    assert explain(waiting(1, set_aside=broken)) == [SOON]


def test_a_drained_device_is_not_free() -> None:
    assert explain(waiting(1, drained=frozenset({"1"}), booked={"0": WHOLE})) == ["it needs 1 GPU; 0 of 1 are free"]
    assert explain(waiting(1, drained=frozenset({"1"}))) == [SOON]


def test_who_holds_the_devices_is_told_and_for_how_much_longer() -> None:
    holders = (Holder(Device("0"), 9, "train", 842.0), Holder(Device("1"), 10, "fit", None))
    assert explain(waiting(2, booked={"0": WHOLE, "1": WHOLE}, holders=holders)) == [
        "it needs 2 GPUs; 0 of 2 are free",
        "GPU 0 is held by job 9 (train) for about 14m 02s more",
        "GPU 1 is held by job 10 (fit)",
    ]


def test_that_a_holder_is_suspended_is_told_instead_of_a_time() -> None:
    holders = (Holder(Device("0"), 9, "train", 842.0, is_suspended=True),)
    told = "GPU 0 is held by job 9 (train), which is suspended: duckrow resume 9"
    assert told in explain(waiting(2, booked={"0": WHOLE}, holders=holders))


def test_one_free_device_of_two_is_told_as_one() -> None:
    holders = (Holder(Device("0"), 9, "train", -3.0),)
    assert explain(waiting(2, booked={"0": WHOLE}, holders=holders)) == [
        "it needs 2 GPUs; 1 of 2 is free",
        "GPU 0 is held by job 9 (train), which has run longer than usual",
    ]


def test_a_job_that_takes_any_device_needs_a_device() -> None:
    booked = {"0": WHOLE, "1": WHOLE}
    assert explain(waiting(None, booked=booked)) == ["it needs a device; 0 of 2 are free"]
    on_slots = waiting(
        None, seats=tuple(cpus(1)), booked={"cpu0": WHOLE}, holders=(Holder(Device("cpu0"), 9, "prep", None),)
    )
    assert explain(on_slots) == ["it needs a device; 0 of 1 are free", "CPU 0 is held by job 9 (prep)"]


def test_who_holds_a_gpu_is_no_reason_for_a_job_that_needs_a_slot() -> None:
    held = waiting(
        0,
        seats=(*gpus(1), *side_cpus(2)),
        booked={"0": WHOLE, "cpu0": WHOLE, "cpu1": WHOLE},
        holders=(
            Holder(Device("0"), 8, "train", None),
            Holder(Device("cpu0"), 9, "prep", None),
            Holder(Device("cpu1"), 10, "prep", 60.0),
        ),
    )
    assert explain(held) == [
        "it needs a CPU slot; 0 of 2 are free",
        "CPU 0 is held by job 9 (prep)",
        "CPU 1 is held by job 10 (prep) for about 1m 00s more",
    ]


def test_a_job_behind_one_that_waits_is_told_which() -> None:
    behind = waiting(1, booked={"0": WHOLE}, ahead=((Turn(7), Ask(1)), (Turn(8), Ask(2))), ahead_count=2)
    (reason,) = explain(behind)
    assert reason.startswith("job 8 comes first and is waiting itself")


@pytest.mark.parametrize("ahead", [(Turn(8), Ask(0)), (Turn(8), Ask(5))])
def test_one_that_wants_another_kind_or_can_never_start_blocks_nobody(ahead: tuple[Turn, Ask]) -> None:
    seats = (*gpus(2), *side_cpus(1))
    behind = waiting(1, seats=seats, booked={"0": WHOLE, "cpu0": WHOLE}, ahead=(ahead,), ahead_count=1)
    assert explain(behind) == ["1 job comes first"]


@pytest.mark.parametrize(("count", "reason"), [(1, "1 job comes first"), (12, "12 jobs come first")])
def test_how_many_come_first_is_told(count: int, reason: str) -> None:
    assert explain(waiting(1, ahead=((Turn(7), Ask(1)),), ahead_count=count)) == [reason]


def test_groups_are_counted_as_places() -> None:
    pairs = tuple(groups("0+1", "2+3"))
    (reason,) = explain(waiting(2, seats=pairs, booked={"0": WHOLE, "2": WHOLE}))
    assert reason == "it needs 2 GPUs; 0 of 2 are free"


# -- memory, cores, politeness --------------------------------------------------------------------------------------

TWO = Machine({"0": 24_576, "1": 24_576}, cpus=8, mem_mb=65_536)


def test_what_each_gpu_has_free_is_told_and_who_has_the_rest() -> None:
    busy = waiting(
        ask=Ask(mb=20_480),
        machine=TWO._replace(pressure={"1": WHOLE // 2}, foreign_mb={"1": 12_288}),
        booked={"0": WHOLE // 4},
        holders=(Holder(Device("0"), 9, "train", None),),
    )
    assert explain(busy) == [
        "it needs 20G on a GPU",
        "GPU 0 has 18G free",
        "GPU 1 has 12G free, others use 12G of it",
        "GPU 0 is held by job 9 (train)",
    ]


@pytest.mark.parametrize(
    ("ask", "wanted"),
    [
        (Ask(2, 20_480), "it needs 20G on each of 2 GPUs"),
        (Ask(total_mb=40_960), "it needs 40G of GPU memory"),
        (Ask(alone=True), "it needs a GPU to itself"),
        (Ask(alone=True, unknown=True), "it needs a GPU without known jobs, as nothing is known of it"),
        (Ask(2, alone=True), "it needs 2 GPUs to itself"),
        (Ask(mb=20_480, alone=True), "it needs 20G on a GPU to itself"),
        (Ask(alone=True, larger_than_mb=16_384), "it needs a GPU of more than 16G to itself"),
    ],
)
def test_what_it_needs_is_told_in_words(ask: Ask, wanted: str) -> None:
    half = {"0": WHOLE // 2, "1": WHOLE // 2}
    assert explain(waiting(ask=ask, machine=TWO, booked=half)) == [wanted, "GPU 0 has 12G free", "GPU 1 has 12G free"]


def test_a_gpu_that_could_not_be_read_is_told() -> None:
    silent = Observation().machine(TWO, [], ["0", "1"], 1000.0)
    for machine in (silent, TWO._replace(pressure={"0": WHOLE, "1": WHOLE})):
        assert explain(waiting(ask=Ask(mb=10), machine=machine)) == [
            "it needs 10M on a GPU",
            "the free memory of GPU 0 is unknown, so nothing starts there",
            "the free memory of GPU 1 is unknown, so nothing starts there",
        ]


def test_a_job_that_fits_can_start_now() -> None:
    assert explain(waiting(ask=Ask(mb=10_240), machine=TWO, booked={"0": WHOLE // 2})) == [SOON]


def test_one_that_asks_for_more_than_there_is_could_never_start() -> None:
    (reason,) = explain(waiting(ask=Ask(mb=30_720), machine=TWO))
    assert reason == ("it can never start as things are. It asks for 30G of GPU memory, but the largest GPU has 24G.")
    (reason,) = explain(waiting(ask=Ask(cpus=9), machine=TWO))
    assert reason == "it can never start as things are. It asks for 9 cores, but this machine has 8."


def test_cores_and_memory_that_are_promised_to_others_are_told() -> None:
    job = waiting(ask=Ask(cpus=4, mem_mb=20_480), machine=TWO, room={CORES: 3, MEMORY: 10_240})
    assert explain(job) == [
        "it needs 4 cores; 3 of 8 are free",
        "it needs 20G of memory; 10G of 64G are free",
    ]
    assert explain(waiting(ask=Ask(cpus=3), machine=TWO, room={CORES: 3})) == [SOON]


def test_one_ahead_that_waits_for_cores_is_named_also_to_a_job_without_a_gpu() -> None:
    seats = (*gpus(2), *side_cpus(1))
    ahead = ((Turn(7), Ask(1, cpus=8)),)
    behind: dict[str, Any] = {"seats": seats, "machine": TWO, "room": {CORES: 5}, "ahead": ahead, "ahead_count": 1}
    assert explain(waiting(ask=Ask(1), **behind)) == ["job 7 comes first and is waiting itself"]
    assert explain(waiting(ask=Ask(0, cpus=1), **behind)) == ["job 7 comes first and is waiting itself"]
    assert explain(waiting(ask=Ask(0), **behind)) == ["1 job comes first"]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(max_gpus=1), "at most 1 GPU may be used at a time"),
        (Policy(min_free_gpus=1), "1 GPU must stay free"),
        (Policy(jobs_per_gpu=1, max_gpus=1), "at most 1 job may share a GPU"),
    ],
)
def test_what_is_left_to_others_is_a_reason(policy: Policy, reason: str) -> None:
    booked = Ledger()
    book([("0", WHOLE // 2)], booked)
    reasons = explain(waiting(ask=Ask(mb=20_480), machine=TWO._replace(policy=policy), booked=booked))
    assert reason in reasons


def test_gpus_that_somebody_else_uses_are_a_reason_where_they_are_left_alone() -> None:
    machine = TWO._replace(foreign_mb={"0": 2048, "1": 2048}, policy=Policy(only_idle=True))
    assert "GPUs that somebody else is using are not used" in explain(waiting(ask=Ask(1), machine=machine))


def test_whom_a_job_for_a_whole_gpu_waits_for_is_told_and_what_to_type() -> None:
    bob, you = Neighbour("bob", "python", 7, 2048), Neighbour("me", "jupyter", 8, 1024, is_own=True)
    machine = TWO._replace(neighbours={"0": [bob, you]}, unread=["1"])
    assert explain(waiting(1, machine=machine)) == [
        "it needs 1 GPU; 0 of 2 are free",
        "GPU 0 is used by bob's python (process 7, 2G)",
        "the driver does not say who is using GPU 1",
        "it waits until other people's processes are gone (--share-gpus: start beside them)",
    ]
    assert explain(waiting(1, machine=TWO._replace(neighbours={"0": [bob]}))) == [SOON]


def test_for_a_gpu_that_the_driver_does_not_list_nobody_waits_until_people_are_gone() -> None:
    bob = Neighbour("bob", "python", 7, 2048)
    machine = TWO._replace(unread=["1"], models={"0": "H200"})
    assert explain(waiting(1, machine=machine, booked={"0": WHOLE})) == [
        "it needs 1 GPU; 0 of 2 are free",
        "the driver lists no GPU 1, only GPU 0",
    ]
    assert explain(waiting(1, machine=machine._replace(neighbours={"0": [bob]}))) == [
        "it needs 1 GPU; 0 of 2 are free",
        "GPU 0 is used by bob's python (process 7, 2G)",
        "the driver lists no GPU 1, only GPU 0",
        "it waits until other people's processes are gone (--share-gpus: start beside them)",
    ]


def test_politeness_is_no_reason_where_there_is_no_room_anyway() -> None:
    full = {"0": WHOLE, "1": WHOLE}
    assert explain(waiting(1, machine=TWO._replace(policy=Policy(max_gpus=2)), booked=full)) == [
        "it needs 1 GPU; 0 of 2 are free"
    ]


def test_without_gpus_one_that_is_to_be_packed_needs_a_device() -> None:
    on_slots = waiting(ask=Ask(alone=True), seats=tuple(cpus(1)), booked={"cpu0": WHOLE})
    assert explain(on_slots) == ["it needs a device; 0 of 1 are free"]
