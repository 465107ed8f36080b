"""Who starts where: placement, the order of the queue, and what holds in every case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book, cpu_seats, has_room, load, parse_gpus, unbook
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.decide import Start, choose_starts
from duckrow.core.schedule.placement import place, refusal
from tests.core.language import WAITS, cpus, expect, gpus, groups, job, side_cpus, taken

HALF = WHOLE // 2
ADD_SLOTS = "Add CPU slots with --slots, or let it ask for a GPU."


def test_jobs_start_on_the_gpus_in_their_order() -> None:
    expect(job(), job(), job()).on(gpus(2)).to_get("0", "1", WAITS)


def test_jobs_spread_over_gpus_that_several_may_share_unless_one_is_to_be_filled_first() -> None:
    for policy, where in ((Policy(), "0101"), (Policy(fill=True), "0011")):
        seats, booked, got = parse_gpus(["0", "0", "1", "1"]), Ledger(), ""
        for _ in range(4):
            holds = place(Ask(), seats, booked, Machine(policy=policy))
            assert holds
            book(holds, booked)
            got += holds[0][0]
        assert got == where


def test_a_job_of_two_gpus_gets_two() -> None:
    expect(job(gpus=2), job(gpus=2)).on(gpus(4)).to_get("0,1", "2,3")


def test_a_job_of_two_gpus_waits_for_the_second() -> None:
    expect(job(gpus=2)).on(gpus(2), booked={"1": WHOLE}).to_get(WAITS)


def test_a_job_goes_around_a_gpu_that_is_taken() -> None:
    expect(job(gpus=2)).on(gpus(3), booked={"1": WHOLE}).to_get("0,2")


def test_a_small_job_does_not_overtake_a_big_one_that_waits() -> None:
    expect(job(gpus=2), job(gpus=1)).on(gpus(2), booked={"0": WHOLE}).to_get(WAITS, WAITS)


def test_a_job_without_a_gpu_passes_one_that_waits_for_gpus() -> None:
    expect(job(gpus=2), job(gpus=0), job(gpus=1)).on(gpus(1), cpus(1), booked={"0": WHOLE}).to_get(WAITS, "cpu0", WAITS)


def test_a_job_for_a_gpu_passes_one_that_waits_for_a_cpu_slot() -> None:
    expect(job(gpus=0), job(gpus=0), job(gpus=1)).on(gpus(1), cpus(1)).to_get("cpu0", WAITS, "0")


def test_a_job_that_says_nothing_gets_a_gpu_where_there_are_gpus() -> None:
    expect(job(), job()).on(side_cpus(2), gpus(1)).to_get("0", WAITS)


def test_a_job_that_says_nothing_takes_a_cpu_slot_that_was_named_beside_gpus() -> None:
    expect(job(), job(), job()).on(groups("0", "")).to_get("0", "cpu0", WAITS)
    expect(job(), job(), job(), job()).on(gpus(1), cpus(2)).to_get("0", "cpu0", "cpu1", WAITS)
    expect(job(), job()).on(gpus(1), cpus(1), booked={"0": WHOLE}).to_get("cpu0", WAITS)


def test_a_job_that_wants_no_gpu_takes_the_daemons_side_slots() -> None:
    expect(job(gpus=0), job(gpus=0), job(gpus=1)).on(gpus(1), side_cpus(1)).to_get("cpu0", WAITS, "0")


def test_a_job_that_says_nothing_gets_a_cpu_slot_where_there_are_no_gpus() -> None:
    expect(job(), job(), job(gpus=0)).on(cpus(3)).to_get("cpu0", "cpu1", "cpu2")


def test_a_job_that_wants_no_gpu_does_not_start_where_there_are_only_gpus() -> None:
    expect(job(gpus=0), job()).on(gpus(1)).to_get(WAITS, "0")


def test_a_job_that_says_nothing_gets_a_group_as_it_is() -> None:
    expect(job(), job(), job()).on(groups("0+1", "2")).to_get("0,1", "2", WAITS)


def test_a_group_is_not_torn_apart_for_a_smaller_job() -> None:
    expect(job(gpus=1)).on(groups("0+1", "2")).to_get("2")


def test_a_group_of_just_the_size_is_taken_before_others_are_joined() -> None:
    expect(job(gpus=2)).on(groups("0", "1", "2+3")).to_get("2,3")
    expect(job(gpus=2)).on(groups("0", "1", "2+3"), booked={"2": WHOLE}).to_get("0,1")


def test_a_pair_is_found_behind_a_single_gpu() -> None:
    assert refusal(Ask(2), groups("0", "1+2")) is None
    expect(job(gpus=2)).on(groups("0", "1+2")).to_get("1,2")


def test_groups_are_joined_for_a_bigger_job() -> None:
    expect(job(gpus=4)).on(groups("0+1", "2+3")).to_get("0,1,2,3")
    expect(job(gpus=3)).on(groups("0+1", "2")).to_get("0,1,2")


def test_two_jobs_share_a_gpu_that_is_named_twice() -> None:
    expect(job(), job(), job()).on(groups("0", "0")).to_get("0", "0", WAITS)


def test_each_gpu_takes_as_many_jobs_as_may_share_it() -> None:
    starts = choose_starts([job(id=number) for number in range(5)], gpus(2, jobs_per_gpu=2), Ledger())
    assert sorted(start.holds[0][0] for start in starts) == ["0", "0", "1", "1"]


def test_jobs_are_spread_over_the_gpus_before_they_share_one() -> None:
    expect(job(), job(), job()).on(gpus(2, jobs_per_gpu=2)).to_get("0", "1", "0")
    expect(job(), job(gpus=1), job()).on(groups("0", "0", "1", "1")).to_get("0", "1", "0")
    expect(job()).on(gpus(2, jobs_per_gpu=2), booked={"0": HALF}).to_get("1")
    expect(job()).on(gpus(2, jobs_per_gpu=4), booked={"0": HALF, "1": HALF // 2}).to_get("1")


def test_a_seat_takes_one_job_at_a_time() -> None:
    expect(job(), job(), job()).on(groups("1", "0+1")).to_get("1", "0,1", WAITS)


def test_a_job_of_one_gpu_shares_it_like_one_that_says_nothing() -> None:
    expect(job(gpus=1), job(gpus=1), job(gpus=1)).on(gpus(1, jobs_per_gpu=2)).to_get("0", "0", WAITS)
    expect(job(gpus=2), job(gpus=2)).on(groups("0+1", "0+1")).to_get("0,1", "0,1")


def test_a_job_of_several_gpus_has_them_whole_although_others_share() -> None:
    expect(job(gpus=2), job(gpus=1)).on(gpus(2, jobs_per_gpu=2)).to_get("0,1", WAITS)
    expect(job(gpus=1), job(gpus=2)).on(gpus(2, jobs_per_gpu=2)).to_get("0", WAITS)


def test_a_job_of_two_gpus_never_gets_the_same_one_twice() -> None:
    expect(job(gpus=2)).on(groups("0", "0", "1")).to_get("0,1")
    expect(job(gpus=2)).on(groups("0", "0")).to_get(WAITS)


def test_what_another_host_has_booked_is_left_alone() -> None:
    expect(job(), job()).on(gpus(2), booked={"0": 1}).to_get("1", WAITS)
    expect(job()).on(gpus(1, jobs_per_gpu=2), booked={"0": HALF}).to_get("0")
    expect(job()).on(gpus(1, jobs_per_gpu=2), booked={"0": HALF + 1}).to_get(WAITS)


def test_a_job_that_can_never_start_here_blocks_nobody() -> None:
    expect(job(gpus=4), job(gpus=1)).on(gpus(2)).to_get(WAITS, "0")
    expect(job(gpus=1), job()).on(cpus(1)).to_get(WAITS, "cpu0")
    expect(job(gpus=1), job(gpus=3), job(gpus=2)).on(groups("0+1")).to_get(WAITS, WAITS, "0,1")


def test_nothing_starts_where_there_is_nothing() -> None:
    assert choose_starts([job()], [], Ledger()) == []
    assert choose_starts([], gpus(2), Ledger()) == []


def test_a_device_is_given_out_once_and_what_is_booked_is_not_touched() -> None:
    booked = taken("7")
    starts = choose_starts([job(gpus=2), job(gpus=0), job(gpus=0)], [*gpus(2), *cpus(1)], booked)
    assert [start.holds for start in starts] == [(("0", WHOLE), ("1", WHOLE)), (("cpu0", WHOLE),)]
    assert booked == taken("7")


# -- whether it ever could ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "seats", "why"),
    [
        (3, gpus(2), "It asks for 3 GPUs, but there are 2: 0, 1. Ask for at most 2."),
        (1, cpus(4), "It asks for 1 GPU, but there is none here, only 4 CPU slots. Omit --gpus."),
        (2, cpus(1), "It asks for 2 GPUs, but there is none here, only 1 CPU slot. Omit --gpus."),
        (0, gpus(2), f"It asks for no GPU, but there is no CPU slot beside the 2 GPUs. {ADD_SLOTS}"),
        (0, gpus(1), f"It asks for no GPU, but there is no CPU slot beside the 1 GPU. {ADD_SLOTS}"),
        (1, groups("0+1", "2+3"), "It asks for 1 GPU, but jobs get one of these groups: 0+1 2+3."),
        (2, groups("0", "0"), "It asks for 2 GPUs, but there is 1: 0. Ask for at most 1."),
    ],
)
def test_a_job_that_could_never_start_is_refused_with_the_reason(count: int, seats: list[Seat], why: str) -> None:
    assert refusal(Ask(count), seats) == why


@pytest.mark.parametrize(
    ("count", "seats"),
    [(None, cpus(1)), (None, gpus(1)), (0, cpus(1)), (2, gpus(2)), (2, groups("0+1")), (1, [*gpus(1), *cpus(1)])],
)
def test_a_job_that_only_has_to_wait_is_not_refused(count: int | None, seats: list[Seat]) -> None:
    assert refusal(Ask(count), seats) is None
    everything = taken(*(device for seat in seats for device in seat.devices))
    assert place(Ask(count), seats, everything) is None


# -- what holds in every case ---------------------------------------------------------------------------------------


class Day(NamedTuple):
    """Some devices, some jobs, and which of the running ones end in each round."""

    seats: list[Seat]
    queue: list[QueuedJob]
    ends: list[set[int]]


@st.composite
def days(draw: st.DrawFn) -> Day:
    numbers = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True)
    tokens = ["+".join(map(str, group)) for group in draw(st.lists(numbers, max_size=5))]
    seats = parse_gpus(tokens, draw(st.integers(1, 3))) if len(tokens) > 1 else []
    seats += cpu_seats(slots, side=bool(seats) and draw(st.booleans())) if (slots := draw(st.integers(0, 3))) else []
    assume(seats)
    wanted = draw(st.lists(st.sampled_from([None, None, 0, 1, 1, 2, 3]), max_size=12))
    queue = [job(count, id=number) for number, count in enumerate(wanted) if refusal(Ask(count), seats) is None]
    ends = draw(st.lists(st.sets(st.integers(0, 11)), min_size=1, max_size=4))
    return Day(seats, queue, ends)


def rounds(day: Day) -> list[tuple[list[QueuedJob], Ledger, list[Start], Ledger]]:
    """Play the day: (queue, booked before, starts, booked after) of each round."""
    queue, booked, running = list(day.queue), Ledger(), dict[int, Start]()
    played = []
    for ends in day.ends:
        for job_id in ends & set(running):
            unbook(running.pop(job_id).holds, booked)
        before = Ledger(booked)
        starts = choose_starts(queue, day.seats, booked)
        for start in starts:
            book(start.holds, booked)
        played.append((queue, before, starts, Ledger(booked)))
        running.update({start.job.id: start for start in starts})
        queue = [waiting for waiting in queue if waiting.id not in running]
    return played


def of_kind(jobs: Sequence[QueuedJob], seats: Sequence[Seat], is_cpu: bool) -> list[int]:
    no_gpus = all(seat.is_cpu for seat in seats)
    return [each.id for each in jobs if (each.gpus == 0 or no_gpus) == is_cpu]


@given(days())
def test_no_device_is_ever_booked_beyond_the_whole(day: Day) -> None:
    for _, _, _, booked in rounds(day):
        assert all(0 <= share <= WHOLE for share in booked.values()), booked


@given(days())
def test_a_started_job_has_exactly_the_gpus_it_asked_for_and_each_once(day: Day) -> None:
    for_anybody = [seat.holds for seat in day.seats if not seat.side]
    for _, _, starts, _ in rounds(day):
        for start in starts:
            devices = [device for device, _ in start.holds]
            held_gpus = [device for device in devices if not device.startswith("cpu")]
            assert len(set(devices)) == len(devices) > 0
            assert all(share > 0 for _, share in start.holds)
            if start.job.gpus is None:
                assert start.holds in for_anybody
            else:
                assert len(held_gpus) == start.job.gpus
            assert bool(held_gpus) != (len(devices) == 1 and devices[0].startswith("cpu"))


@given(days())
def test_the_same_input_gives_the_same_starts(day: Day) -> None:
    for queue, before, starts, _ in rounds(day):
        booked = Ledger(before)
        assert choose_starts(queue, day.seats, booked) == starts
        assert booked == before


@given(days())
def test_nobody_overtakes_a_job_that_wants_the_same_kind_of_device(day: Day) -> None:
    for queue, _, starts, _ in rounds(day):
        for is_cpu in (True, False):
            started = of_kind([start.job for start in starts], day.seats, is_cpu)
            waiting = of_kind(queue, day.seats, is_cpu)
            assert started == waiting[: len(started)]


@given(days())
def test_a_job_for_any_one_device_never_waits_beside_a_free_one(day: Day) -> None:
    for queue, _, starts, booked in rounds(day):
        started = {start.job.id for start in starts}
        for is_cpu in (True, False):
            next_up = [job_id for job_id in of_kind(queue, day.seats, is_cpu) if job_id not in started][:1]
            if [each.gpus for each in queue if each.id in next_up] == [None]:
                assert not any(not seat.side and has_room(seat, booked) for seat in day.seats)


@given(days())
def test_a_job_for_any_one_device_gets_the_one_that_has_least_to_do(day: Day) -> None:
    for _, booked, starts, _ in rounds(day):
        for start in starts:
            if start.job.gpus is None:
                free = [seat for seat in day.seats if not seat.side and has_room(seat, booked)]
                assert load(Seat(start.holds), booked) == min(load(seat, booked) for seat in free)
            book(start.holds, booked)


@given(days(), st.integers(0, 12))
def test_a_job_that_can_never_start_changes_nothing_for_the_others(day: Day, place_in_queue: int) -> None:
    for queue, before, starts, _ in rounds(day):
        crowded = [*queue[:place_in_queue], job(gpus=6, id=99), *queue[place_in_queue:]]
        assert choose_starts(crowded, day.seats, before) == starts


@settings(max_examples=30)
@given(days())
def test_every_job_starts_in_the_end_if_the_others_end(day: Day) -> None:
    everyone = set(range(12))
    patient = day._replace(ends=[everyone] * (len(day.queue) + 1))
    started = [start.job.id for _, _, starts, _ in rounds(patient) for start in starts]
    assert sorted(started) == [each.id for each in day.queue]
