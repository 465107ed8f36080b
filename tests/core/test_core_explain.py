"""Why a job is not running, in words."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.dependency import ANY, FAILED, OK
from duckrow.core.explain import Holder, Waiting, explain
from duckrow.core.inventory import WHOLE
from tests.core.language import cpus, gpus, groups, side_cpus

SOON = "it can start now, and will in a moment"


def waiting(gpu_count: int | None = None, **fields: Any) -> Waiting:
    """A job that nothing keeps from starting, but for what is said; there are two GPUs."""
    free: dict[str, Any] = {
        "held": False,
        "wait_s": None,
        "paused": None,
        "waits_for": (),
        "limit": None,
        "host": None,
        "daemon_runs": True,
        "seats": tuple(gpus(2)),
        "drained": frozenset(),
        "booked": {},
        "holders": (),
        "ahead": (),
        "ahead_count": 0,
    }
    return Waiting(gpu_count, **{**free, **fields})


def test_a_job_that_nothing_holds_up_can_start_now() -> None:
    assert explain(waiting()) == [SOON]
    assert explain(waiting(2)) == [SOON]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"held": True}, "it is held: duckrow release"),
        ({"wait_s": 90.0}, "its time has not come: 1m 30s to go"),
        ({"paused": ""}, "everything is paused: duckrow resume"),
        ({"paused": "thesis"}, "thesis is paused: duckrow resume"),
        ({"waits_for": ((12, OK),)}, "it waits for job 12 to succeed"),
        ({"waits_for": ((12, ANY),)}, "it waits for job 12 to end"),
        ({"waits_for": ((12, FAILED),)}, "it waits for job 12 to fail"),
        ({"limit": ("thesis", 2, 2)}, "thesis may run 2 jobs at a time, and 2 run"),
        ({"limit": ("thesis", 1, 3)}, "thesis may run 1 job at a time, and 3 run"),
        ({"limit": ("thesis", 0, 0)}, "thesis may run 0 jobs at a time, and 0 run"),
        ({"host": "run-7"}, "it belongs to the run run-7, which is over: duckrow run --resume=run-7"),
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
        waits_for=((12, OK), (13, ANY)),
        limit=("thesis", 1, 1),
        daemon_runs=False,
    )
    assert explain(everything) == [
        "it is held: duckrow release",
        "its time has not come: 5.0s to go",
        "thesis is paused: duckrow resume",
        "it waits for job 12 to succeed",
        "it waits for job 13 to end",
        "thesis may run 1 job at a time, and 1 run",
        "the daemon is not running: duckrow up",
    ]


def test_a_job_of_a_run_that_is_over_does_not_wait_for_the_daemon() -> None:
    (reason,) = explain(waiting(host="run-7", daemon_runs=False))
    assert "run-7" in reason


def test_devices_are_no_reason_while_a_person_must_act() -> None:
    assert explain(waiting(held=True, booked={"0": WHOLE, "1": WHOLE}, ahead_count=9)) == [
        "it is held: duckrow release"
    ]


def test_a_job_that_could_never_start_is_told_what_there_is() -> None:
    (reason,) = explain(waiting(3))
    assert reason.startswith("it could never start as things are. It asks for 3 GPUs, and there are 2: 0, 1.")
    assert "drained" not in reason


def test_a_job_that_could_never_start_for_a_drain_is_told_which() -> None:
    (reason,) = explain(waiting(2, drained=frozenset({"1"})))
    assert reason.startswith("it could never start as things are. It asks for 2 GPUs, and there is 1: 0.")
    assert reason.endswith("(1 drained)")


def test_a_drained_device_is_not_free() -> None:
    assert explain(waiting(1, drained=frozenset({"1"}), booked={"0": WHOLE})) == ["it needs 1 GPU; 0 of 1 are free"]
    assert explain(waiting(1, drained=frozenset({"1"}))) == [SOON]


def test_who_holds_the_devices_is_told_and_for_how_much_longer() -> None:
    holders = (Holder("0", 9, "train", 842.0), Holder("1", 10, "fit", None))
    assert explain(waiting(2, booked={"0": WHOLE, "1": WHOLE}, holders=holders)) == [
        "it needs 2 GPUs; 0 of 2 are free",
        "gpu 0 is held by job 9 (train) for about 14m 02s more",
        "gpu 1 is held by job 10 (fit)",
    ]


def test_one_free_device_of_two_is_told_as_one() -> None:
    holders = (Holder("0", 9, "train", -3.0),)
    assert explain(waiting(2, booked={"0": WHOLE}, holders=holders)) == [
        "it needs 2 GPUs; 1 of 2 is free",
        "gpu 0 is held by job 9 (train) for about 0.0s more",
    ]


def test_a_job_that_takes_any_device_needs_a_device() -> None:
    booked = {"0": WHOLE, "1": WHOLE}
    assert explain(waiting(None, booked=booked)) == ["it needs a device; 0 of 2 are free"]
    on_slots = waiting(None, seats=tuple(cpus(1)), booked={"cpu0": WHOLE}, holders=(Holder("cpu0", 9, "prep", None),))
    assert explain(on_slots) == ["it needs a device; 0 of 1 are free", "cpu 0 is held by job 9 (prep)"]


def test_who_holds_a_gpu_is_no_reason_for_a_job_that_needs_a_slot() -> None:
    held = waiting(
        0,
        seats=(*gpus(1), *side_cpus(2)),
        booked={"0": WHOLE, "cpu0": WHOLE, "cpu1": WHOLE},
        holders=(Holder("0", 8, "train", None), Holder("cpu0", 9, "prep", None), Holder("cpu1", 10, "prep", 60.0)),
    )
    assert explain(held) == [
        "it needs a CPU slot; 0 of 2 are free",
        "cpu 0 is held by job 9 (prep)",
        "cpu 1 is held by job 10 (prep) for about 1m 00s more",
    ]


def test_a_job_behind_one_that_waits_is_told_which() -> None:
    behind = waiting(1, booked={"0": WHOLE}, ahead=((7, 1), (8, 2)), ahead_count=2)
    (reason,) = explain(behind)
    assert reason.startswith("job 8 comes first and waits itself")


@pytest.mark.parametrize("ahead", [(8, 0), (8, 5)])
def test_one_that_wants_another_kind_or_can_never_start_blocks_nobody(ahead: tuple[int, int]) -> None:
    seats = (*gpus(2), *side_cpus(1))
    behind = waiting(1, seats=seats, booked={"0": WHOLE, "cpu0": WHOLE}, ahead=(ahead,), ahead_count=1)
    assert explain(behind) == ["1 job comes first"]


@pytest.mark.parametrize(("count", "reason"), [(1, "1 job comes first"), (12, "12 jobs come first")])
def test_how_many_come_first_is_told(count: int, reason: str) -> None:
    assert explain(waiting(1, ahead=((7, 1),), ahead_count=count)) == [reason]


def test_groups_are_counted_as_places() -> None:
    pairs = tuple(groups("0+1", "2+3"))
    (reason,) = explain(waiting(2, seats=pairs, booked={"0": WHOLE, "2": WHOLE}))
    assert reason == "it needs 2 GPUs; 0 of 2 are free"
