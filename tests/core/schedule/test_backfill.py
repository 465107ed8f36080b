"""Who may start ahead of jobs that wait."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.devices.device import Device
from duckrow.core.devices.inventory import Ledger, book
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.backfill import MOST_OVERTAKERS, TOGETHER_S, FirstStart, Front, Shadow, Turn
from duckrow.core.schedule.decide import CORES, choose_starts
from duckrow.core.schedule.explain import Holder, WaitingJob, explain
from tests.core.language import attempt, shares, taken
from tests.core.memory_language import Stage, gpus, job, machine_of

BIG, SMALL = job("20G"), job("4G")


def comes(what: QueuedJob, number: int, at: float = 0.0, **fields: Any) -> QueuedJob:
    return what._replace(id=number, created_at=at, **fields)


def started(*queue: QueuedJob, stage: Stage | None = None, room: dict[str, int] | None = None) -> list[int]:
    """Who starts on a GPU of 24G with 10G reserved, while the first job in the queue waits for 20G."""
    stage = stage or gpus("24G")
    machine, booked = machine_of(stage, cpus=8), Ledger()
    book([("0", machine.share_of("0", 10 * 1024))], booked)
    return [start.job.id for start in choose_starts(queue, stage.seats, booked, room, None, machine)]


def test_a_packed_job_goes_past_one_that_came_with_it_and_does_not_fit_yet() -> None:
    assert started(comes(BIG, 1), comes(SMALL, 2), comes(SMALL, 3)) == [2, 3]


@pytest.mark.parametrize(("later_s", "passes"), [(0.0, True), (TOGETHER_S, True), (TOGETHER_S + 1, False)])
def test_one_that_came_much_later_does_not(later_s: float, passes: bool) -> None:
    assert started(comes(BIG, 1, 5000.0), comes(SMALL, 2, 5000.0 + later_s)) == ([2] if passes else [])


@pytest.mark.parametrize(("behind", "passes"), [(MOST_OVERTAKERS, True), (MOST_OVERTAKERS + 1, False)])
def test_of_many_that_came_together_only_so_many_do(behind: int, passes: bool) -> None:
    assert started(comes(BIG, 7), comes(SMALL, 7 + behind)) == ([7 + behind] if passes else [])


def test_one_that_matters_less_does_not() -> None:
    assert started(comes(BIG, 1, priority=50), comes(SMALL, 2)) == []
    assert started(comes(BIG, 1, priority=50), comes(SMALL, 2, priority=50), comes(SMALL, 3)) == [2]


@pytest.mark.parametrize(
    "strict",
    [
        job(gpus=1),
        job(total="20G"),
        job(alone=True),
        job(mem="20G", alone=True),
        job(larger_than="20G"),
        job(auto=True),
    ],
)
def test_jobs_that_are_not_packed_keep_their_turn(strict: QueuedJob) -> None:
    assert started(comes(strict, 1), comes(SMALL, 2)) == []
    two = gpus("24G", "24G")
    assert started(comes(job("20G", 2), 1), comes(strict, 2), comes(SMALL, 3), stage=two) == []


def test_whoever_goes_past_goes_past_all_who_wait() -> None:
    """The second was moved to its place: it came long before."""
    assert started(comes(BIG, 1, 5000.0), comes(BIG, 2, 0.0), comes(SMALL, 3, 5000.0)) == []


def test_one_that_waits_for_cores_is_not_passed() -> None:
    waits = comes(job("4G", cores=8), 1)
    assert started(waits, comes(SMALL, 2), room={CORES: 4}) == []
    assert started(waits, comes(SMALL, 2), room={CORES: 8}) == [1, 2]


def test_one_behind_the_front_does_not_keep_cores_from_others() -> None:
    """Job 2 may not start, however many cores there are: they are not kept for it."""
    queue = [comes(BIG, 1), comes(job("4G", cores=8), 2, TOGETHER_S + 1), comes(job("4G", cores=2), 3)]
    assert started(*queue, room={CORES: 4}) == [3]


def test_one_that_can_never_start_is_no_reason_to_keep_a_turn() -> None:
    assert started(comes(BIG, 1), comes(job(gpus=2), 2), comes(job("30G"), 3), comes(SMALL, 4)) == [4]


def test_jobs_over_their_limit_hold_up_nobody_at_the_front() -> None:
    full = comes(job(gpus=1), 2, project="full")
    assert started(comes(BIG, 1), full, comes(SMALL, 3), room={"project:full": 0}) == [3]


def test_the_front_is_open_to_packed_jobs_until_one_that_is_not_packed_waits() -> None:
    front = Front()
    front.join(Turn(1), Ask(mb=10))
    assert front.lets_pass(Turn(2), Ask(mb=99))
    assert not front.lets_pass(Turn(2), Ask(1))
    front.join(Turn(3), Ask(1))
    assert front.is_closed
    assert not front.lets_pass(Turn(2), Ask(mb=99))


def test_a_front_whose_time_is_known_is_closed_to_nobody() -> None:
    front = Front()
    limited = Shadow(900.0, [attempt(job(gpus=1)._replace(timeout_s=50.0))])
    front.join(Turn(1), Ask(1), FirstStart(Ask(1), limited, gpus("24G").seats, taken("0")))
    assert front.is_shut
    assert not front.is_closed


@pytest.mark.parametrize("ask", [Ask(), Ask(2), Ask(total_mb=5), Ask(mb=5, alone=True), Ask(mb=5, larger_than_mb=1)])
def test_only_a_figure_for_each_gpu_makes_a_job_packed(ask: Ask) -> None:
    assert not is_packed(ask)
    assert is_packed(Ask(mb=5))


# -- in words -------------------------------------------------------------------------------------------------------


def why(turn: Turn, ask: Ask, *ahead: tuple[Turn, Ask]) -> list[str]:
    """On a GPU of 24G, of which job 9 holds 12G."""
    stage = gpus("24G")
    return explain(
        WaitingJob(
            ask=ask,
            held=False,
            wait_s=None,
            paused=None,
            waits_for=(),
            limit=None,
            ended_run=None,
            daemon_runs=True,
            seats=tuple(stage.seats),
            drained=frozenset(),
            booked=shares({"0": 500_000}),
            holders=(Holder(Device("0"), 9, "train", None),),
            turn=turn,
            ahead=ahead,
            ahead_count=len(ahead),
            machine=machine_of(stage),
        )
    )


def test_one_that_may_be_overtaken_is_not_what_a_job_waits_for() -> None:
    own_reasons = ["1 job comes first", "it needs 14G on a GPU", "GPU 0 has 12G free", "GPU 0 is held by job 9 (train)"]
    assert why(Turn(2), Ask(mb=14_336), (Turn(1), Ask(mb=20_480))) == own_reasons


@pytest.mark.parametrize(
    ("turn", "ahead"),
    [
        (Turn(2, created_at=TOGETHER_S + 1), Turn(1)),
        (Turn(2 + MOST_OVERTAKERS), Turn(1)),
        (Turn(2), Turn(1, priority=50)),
    ],
)
def test_one_that_may_not_be_overtaken_is_named(turn: Turn, ahead: Turn) -> None:
    assert why(turn, Ask(mb=4096), (ahead, Ask(mb=20_480))) == ["job 1 comes first and is waiting itself"]


def test_the_one_that_keeps_its_turn_is_named_not_the_one_before_it() -> None:
    assert why(Turn(3), Ask(mb=4096), (Turn(1), Ask(mb=20_480)), (Turn(2), Ask(1))) == [
        "job 2 comes first and is waiting itself"
    ]
