"""One tick: time limits, notices, the steps of a kill, when to wake, who follows whom, how many at a time, backfill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book, unbook
from duckrow.core.devices.needs import Ask
from duckrow.core.jobs.attempt import Exit, LiveAttempt, Stop
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome
from duckrow.core.schedule.backfill import Shadow
from duckrow.core.schedule.decide import (
    BRISK_S,
    LONGEST_LINE,
    SHORT_S,
    Decision,
    Notice,
    Start,
    StopStep,
    choose_starts,
    choose_successors,
    decide,
    line_length,
)
from duckrow.core.schedule.placement import place
from tests.core.language import attempt, gpus, job, side_cpus, taken


class Told(NamedTuple):
    """A decision as something that can be compared."""

    starts: list[Start] = []
    notices: list[Notice] = []
    stops: list[StopStep] = []
    wake_mono: float | None = None


def told(decision: Decision) -> Told:
    return Told(list(decision.starts), list(decision.notices), list(decision.stops), decision.wake_mono)


def decided(now: float, *live: LiveAttempt) -> Told:
    return told(decide(now, live, [], gpus(1), Ledger()))


def test_an_attempt_without_a_limit_is_left_alone() -> None:
    assert decided(1e9, attempt(job())) == Told()


@pytest.mark.parametrize("step_s", [-7200.0, 7200.0])
def test_a_wall_clock_that_is_set_changes_nothing_of_limits_and_graces(step_s: float) -> None:
    limited = attempt(job(id=1, timeout_s=100.0, notice_signal=None), started_at=1.8e9 + step_s, started_mono=1000.0)
    asked = attempt(job(id=2, grace_s=60.0), started_at=1.8e9 + step_s, stop=Stop(None, 1000.0, 1))
    assert decided(1059.0, limited, asked) == Told(wake_mono=1060.0)
    assert decided(1060.0, limited, asked).stops == [StopStep(asked, 2)]
    assert decided(1100.0, limited).stops == [StopStep(limited, 1, Outcome.TIMED_OUT)]


def test_an_attempt_within_its_limit_only_says_when_to_wake() -> None:
    limited = attempt(job(timeout_s=100.0, notice_signal=None), started_mono=1000.0)
    assert decided(1050.0, limited) == Told(wake_mono=1100.0)


def test_a_time_limit_stands_still_while_the_attempt_is_suspended() -> None:
    suspended = attempt(job(timeout_s=100.0), started_mono=1000.0, suspended_mono=1090.0)
    assert decided(5000.0, suspended) == Told()


@pytest.mark.parametrize("now", [1100.0, 1100.1, 5000.0])
def test_an_attempt_over_its_limit_is_asked_to_end(now: float) -> None:
    late = attempt(job(timeout_s=100.0, grace_s=7.0), started_mono=1000.0)
    assert decided(now, late) == Told(stops=[StopStep(late, 1, Outcome.TIMED_OUT)], wake_mono=now + 7.0)


def test_the_notice_comes_ahead_of_the_limit() -> None:
    warned = attempt(job(timeout_s=100.0, notice_s=30.0), started_mono=1000.0)
    assert decided(1069.0, warned) == Told(wake_mono=1070.0)
    assert decided(1070.0, warned) == Told(notices=[Notice(warned)], wake_mono=1100.0)


def test_the_notice_comes_once() -> None:
    warned = attempt(job(timeout_s=100.0), started_mono=1000.0, noticed=True)
    assert decided(1080.0, warned) == Told(wake_mono=1100.0)


def test_a_limit_shorter_than_the_notice_is_announced_half_way() -> None:
    short = attempt(job(timeout_s=20.0, notice_s=30.0), started_mono=1000.0)
    assert decided(1005.0, short) == Told(wake_mono=1010.0)
    assert decided(1010.0, short).notices == [Notice(short)]


def test_no_notice_is_given_to_whom_wants_none() -> None:
    silent = attempt(job(timeout_s=100.0, notice_signal=None), started_mono=1000.0)
    assert decided(1099.0, silent) == Told(wake_mono=1100.0)


def test_no_notice_is_given_after_the_limit() -> None:
    late = attempt(job(timeout_s=100.0), started_mono=1000.0)
    assert decided(1100.0, late).notices == []


def test_the_ladder_begins_with_a_request() -> None:
    doomed = attempt(job(grace_s=5.0), stop=Stop(Outcome.KILLED, 2000.0))
    assert decided(2001.0, doomed) == Told(stops=[StopStep(doomed, 1)], wake_mono=2005.0)


def test_the_ladder_waits_for_the_grace() -> None:
    asked = attempt(job(grace_s=5.0), stop=Stop(Outcome.KILLED, 2000.0, 1))
    assert decided(2004.9, asked) == Told(wake_mono=2005.0)


def test_the_ladder_ends_with_force() -> None:
    asked = attempt(job(grace_s=5.0), stop=Stop(Outcome.TIMED_OUT, 2000.0, 1))
    assert decided(2005.0, asked) == Told(stops=[StopStep(asked, 2)])


def test_nothing_comes_after_force() -> None:
    forced = attempt(job(grace_s=5.0), stop=Stop(Outcome.KILLED, 2000.0, 2))
    assert decided(9999.0, forced) == Told()


def test_a_grace_of_nothing_forces_at_the_next_look() -> None:
    doomed = attempt(job(grace_s=0.0), stop=Stop(Outcome.KILLED, 2000.0))
    assert decided(2000.0, doomed).wake_mono == 2000.0
    doomed.take_step(1)
    assert decided(2000.0, doomed).stops == [StopStep(doomed, 2)]


def test_leftovers_are_cleared_without_a_reason_of_ours() -> None:
    left = attempt(job(), stop=Stop(None, 2000.0), end=Exit(0))
    assert decided(2000.0, left).stops == [StopStep(left, 1)]


def test_an_attempt_that_is_being_stopped_is_not_stopped_for_its_limit_too() -> None:
    both = attempt(job(timeout_s=10.0), stop=Stop(Outcome.KILLED, 2000.0, 2))
    assert decided(9999.0, both) == Told()


def test_the_wake_up_is_for_whoever_is_first() -> None:
    limited = [
        attempt(job(id=number, timeout_s=limit_s, notice_signal=None), started_mono=1000.0)
        for number, limit_s in enumerate((300.0, 100.0, 200.0))
    ]
    asked = attempt(job(id=9, grace_s=60.0), stop=Stop(None, 1000.0, 1))
    assert decided(1000.0, *limited).wake_mono == 1100.0
    assert decided(1000.0, *limited, asked).wake_mono == 1060.0


def test_one_tick_starts_warns_and_stops() -> None:
    late = attempt(job(id=1, timeout_s=10.0), started_mono=1000.0)
    warned = attempt(job(id=2, timeout_s=60.0), started_mono=1000.0)
    waiting = job(id=5)
    decision = decide(1040.0, [late, warned], [waiting], gpus(2), taken("0"))
    assert told(decision) == Told(
        starts=[Start(waiting, reservations([("1", WHOLE)]))],
        notices=[Notice(warned)],
        stops=[StopStep(late, 1, Outcome.TIMED_OUT)],
        wake_mono=1050.0,
    )


def test_deciding_changes_no_attempt() -> None:
    late = attempt(job(timeout_s=10.0), started_mono=1000.0)
    before = repr(late)
    decided(2000.0, late)
    assert repr(late) == before


def test_an_attempt_that_is_lined_up_has_no_limit_yet() -> None:
    lined_up = attempt(job(id=2, timeout_s=10.0), started_mono=1000.0, follows=attempt(job(id=1)).id)
    assert decided(9999.0, lined_up) == Told()


# -- who follows whom -----------------------------------------------------------------------------------------------


def running(*gpus: int | None) -> list[LiveAttempt]:
    """Attempts of jobs 1, 2, ... that asked for this many GPUs."""
    return [attempt(job(count, id=number)) for number, count in enumerate(gpus, start=1)]


def waiting(*gpus: int | None) -> list[QueuedJob]:
    """Jobs 101, 102, ... that ask for this many GPUs."""
    return [job(count, id=number) for number, count in enumerate(gpus, start=101)]


def followers(tails: list[LiveAttempt], queue: list[QueuedJob], room: int = 99) -> list[tuple[int, int]]:
    """(job at the end of a line, job that comes behind it) of each that is lined up."""
    return [(tail.job.id, job.id) for tail, job in choose_successors([(tail, 0) for tail in tails], queue, room)]


def test_a_job_follows_the_attempt_itself() -> None:
    (tail,), (waits,) = running(2), waiting(2)
    ((followed, follows),) = choose_successors([(tail, 0)], [waits], 1)
    assert followed is tail
    assert follows is waits


def test_jobs_follow_the_attempts_in_turn_and_in_the_order_of_the_queue() -> None:
    queue = waiting(*[None] * 5)
    assert followers(running(None, None), queue) == [(1, 101), (2, 102), (1, 103), (2, 104), (1, 105)]
    assert followers(running(None, None, None), queue[:2]) == [(1, 101), (2, 102)]


def test_a_job_lines_up_where_the_fewest_wait() -> None:
    first, second, third = running(None, None, None)
    chosen = choose_successors([(first, 3), (second, 1), (third, 2)], waiting(*[None] * 7), 99)
    assert [(tail.job.id, job.id) for tail, job in chosen] == [
        (2, 101),
        (2, 102),
        (3, 103),
        (1, 104),
        (2, 105),
        (3, 106),
        (1, 107),
    ]


@pytest.mark.parametrize(
    "room",
    [-1, 0, 1, 2, 3],
)
def test_no_more_are_lined_up_than_there_is_room(room: int) -> None:
    all_of_them = [(1, 101), (2, 102), (1, 103)]
    assert followers(running(None, None), waiting(None, None, None), room) == all_of_them[: max(room, 0)]


def test_without_attempts_or_jobs_nobody_follows() -> None:
    assert followers([], waiting(None)) == []
    assert followers(running(None), []) == []


@pytest.mark.parametrize(("runs", "waits"), [(None, 0), (None, 1), (0, None), (1, None), (1, 2), (2, 1), (0, 1)])
def test_a_job_that_asks_for_something_else_does_not_follow(runs: int | None, waits: int | None) -> None:
    assert followers(running(runs), waiting(waits)) == []
    assert followers(running(waits), waiting(waits)) == [(1, 101)]


def test_nobody_overtakes_a_job_that_cannot_follow() -> None:
    assert followers(running(1, 1, 2), waiting(1, 2, 1)) == [(1, 101)]
    assert followers(running(1, 1, 2), waiting(2, 1, 1)) == []


def test_lining_up_changes_neither_attempts_nor_queue() -> None:
    live, queue = running(None, None), waiting(None, None)
    before = repr((live, queue))
    choose_successors([(each, 0) for each in live], queue, 2)
    assert repr((live, queue)) == before


@pytest.mark.parametrize(
    ("pace_s", "length"),
    [
        (1.0, 0),
        (0.101, 0),
        (0.1, 1),
        (0.0251, 1),
        (0.025, 1),
        (0.0126, 1),
        (0.0125, 2),
        (0.0025, 10),
        (0.001, 25),
        (0.0, 50),
    ],
)
def test_the_shorter_jobs_are_the_more_are_lined_up_up_to_a_limit(pace_s: float, length: int) -> None:
    assert line_length(pace_s) == length


@given(st.floats(0, 10))
def test_no_more_work_is_lined_up_than_takes_a_moment(pace_s: float) -> None:
    assert line_length(pace_s) <= LONGEST_LINE
    assert line_length(pace_s) * pace_s <= (BRISK_S if line_length(pace_s) > 1 else SHORT_S) * 1.001


# -- how many at a time ---------------------------------------------------------------------------------------------


def started(starts: Sequence[Start]) -> list[int]:
    return [start.job.id for start in starts]


def of_projects(*projects: str) -> list[QueuedJob]:
    """Jobs 1, 2, ... of these projects."""
    return [job(id=number, project=project) for number, project in enumerate(projects, start=1)]


@pytest.mark.parametrize(
    ("room", "ids"), [({}, [1, 2, 3]), ({"project:a": 2}, [1, 2]), ({"project:a": 0}, []), ({"project:a": -1}, [])]
)
def test_no_more_of_a_project_start_than_there_is_room(room: dict[str, int], ids: list[int]) -> None:
    assert started(choose_starts(of_projects("a", "a", "a"), gpus(4), Ledger(), room)) == ids


def test_other_projects_go_past_one_that_is_full() -> None:
    queue = of_projects("a", "a", "b", "a", "c")
    assert started(choose_starts(queue, gpus(4), Ledger(), {"project:a": 1, "project:c": 5})) == [1, 3, 5]


def test_to_decide_changes_neither_what_is_booked_nor_the_room() -> None:
    room, booked = {"project:a": 2, "project:b": 1, "array:7": 3}, taken("0")
    decision = decide(1000.0, [], of_projects("a", "b", "c"), gpus(4), booked, room)
    assert started(decision.starts) == [1, 2, 3]
    assert room == {"project:a": 2, "project:b": 1, "array:7": 3}
    assert booked == taken("0")
    assert booked.jobs == taken("0").jobs


def test_an_array_has_its_own_room_beside_that_of_its_project() -> None:
    queue = [job(id=number, array_id=7, array_index=number) for number in (1, 2, 3)] + [job(id=4)]
    assert started(choose_starts(queue, gpus(4), Ledger(), {"array:7": 1})) == [1, 4]
    assert started(choose_starts(queue, gpus(4), Ledger(), {"array:7": 2, "project:default": 1})) == [1]
    assert started(choose_starts(queue, gpus(4), Ledger(), {"array:8": 0})) == [1, 2, 3, 4]


def test_a_job_over_its_limit_holds_up_nobody() -> None:
    big, small = job(2, id=1, project="a"), job(1, id=2)
    assert started(choose_starts([big, small], gpus(2), taken("0"), {"project:a": 0})) == [2]
    assert started(choose_starts([big, small], gpus(2), taken("0"), {"project:a": 1})) == []


def test_a_job_that_finds_no_device_uses_no_room() -> None:
    room = {"project:a": 1}
    assert started(choose_starts(of_projects("a"), gpus(1), taken("0"), room)) == []
    assert room == {"project:a": 1}


def test_a_tick_keeps_to_the_room() -> None:
    decision = decide(1000.0, [], of_projects("a", "a", "b"), gpus(3), Ledger(), {"project:a": 1})
    assert started(decision.starts) == [1, 3]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, 7, 8]), st.integers(0, 2)), max_size=12),
    st.dictionaries(st.sampled_from(["project:a", "project:b", "array:7", "array:8"]), st.integers(-1, 4)),
)
def test_never_do_more_start_than_are_allowed(wanted: list[tuple[str, int | None, int]], room: dict[str, int]) -> None:
    queue = [job(count, id=n, project=project, array_id=array) for n, (project, array, count) in enumerate(wanted)]
    starts = choose_starts(queue, [*gpus(6), *side_cpus(6)], Ledger(), dict(room))
    counted = Counter(scope for start in starts for scope in start.job.scopes)
    assert all(counted[scope] <= max(most, 0) for scope, most in room.items())


# -- backfill -------------------------------------------------------------------------------------------------------

NOW = 1000.0


def busy(device: str, ends_at: float | None, number: int = 50) -> LiveAttempt:
    """An attempt whose time limit and grace are over then; None: it has no limit."""
    limit_s = None if ends_at is None else ends_at - 10.0 - 500.0
    holder = job(1, id=number, timeout_s=limit_s, grace_s=10.0)
    return attempt(holder, started_mono=500.0, holds=((device, WHOLE),))


def tick(live: Sequence[LiveAttempt], queue: Sequence[QueuedJob], seats: Sequence[Seat]) -> list[int]:
    booked = Ledger()
    for one in live:
        book(one.holds, booked)
    return started(decide(NOW, live, queue, seats, booked).starts)


BIG = job(2, id=1)


@pytest.mark.parametrize(
    ("timeout_s", "grace_s", "starts"),
    [(60.0, 10.0, True), (90.0, 10.0, True), (90.1, 10.0, False), (90.0, 11.0, False), (1e6, 10.0, False)],
)
def test_a_job_that_ends_in_time_overtakes_one_that_waits(timeout_s: float, grace_s: float, starts: bool) -> None:
    small = job(1, id=2, timeout_s=timeout_s, grace_s=grace_s)
    assert tick([busy("0", NOW + 100)], [BIG, small], gpus(2)) == ([2] if starts else [])


def test_a_job_without_a_time_limit_overtakes_nobody() -> None:
    assert tick([busy("0", NOW + 1e6)], [BIG, job(1, id=2)], gpus(2)) == []


def test_nobody_overtakes_where_the_end_of_what_runs_is_unknown() -> None:
    assert tick([busy("0", None)], [BIG, job(1, id=2, timeout_s=1.0)], gpus(2)) == []


def test_a_known_end_that_is_not_enough_is_unknown_too() -> None:
    live = [busy("0", NOW + 1e6, 50), busy("1", None, 51)]
    assert tick(live, [job(3, id=1), job(1, id=2, timeout_s=1.0)], gpus(3)) == []


def test_the_last_end_that_is_needed_counts() -> None:
    live = [busy("0", NOW + 1000, 50), busy("1", NOW + 50, 51)]
    small = job(1, id=2, timeout_s=100.0)
    assert tick(live, [job(3, id=1), small], gpus(3)) == [2]
    assert tick(live, [job(2, id=1), small], gpus(3)) == []


def test_several_overtake_one_that_waits_but_only_those_that_fit() -> None:
    queue = [job(3, id=1), job(1, id=2), job(1, id=3, timeout_s=20.0), job(1, id=4, timeout_s=500.0)]
    queue += [job(1, id=5, timeout_s=30.0), job(1, id=6, timeout_s=5.0)]
    assert tick([busy("0", NOW + 100)], queue, gpus(3)) == [3, 5]


def test_the_first_who_waits_sets_the_time() -> None:
    live = [busy("0", NOW + 100, 50), busy("1", NOW + 5000, 51)]
    queue = [job(2, id=1), job(3, id=2), job(1, id=3, timeout_s=1000.0)]
    assert tick(live, queue, gpus(3)) == []


def test_one_that_waits_for_a_gpu_does_not_hold_up_a_slot() -> None:
    assert tick([busy("0", None)], [BIG, job(0, id=2)], [*gpus(2), *side_cpus(1)]) == [2]


def test_one_that_overtakes_keeps_to_the_room() -> None:
    queue = [BIG, job(1, id=2, project="a", timeout_s=1.0), job(1, id=3, timeout_s=1.0)]
    live = [busy("0", NOW + 100)]
    assert started(decide(NOW, live, queue, gpus(2), taken("0"), {"project:a": 0}).starts) == [3]


def test_without_a_shadow_nobody_overtakes() -> None:
    assert choose_starts([BIG, job(1, id=2, timeout_s=1.0)], gpus(2), taken("0")) == []


def test_an_attempt_that_is_lined_up_frees_nothing() -> None:
    lined_up = attempt(job(1, id=51, timeout_s=10.0), holds=(("0", WHOLE),), follows=50)
    assert Shadow(NOW, [lined_up]).starts_at(Ask(BIG.gpus), gpus(2), taken("0")) is None


def test_looking_ahead_changes_no_booking() -> None:
    booked = taken("0")
    assert Shadow(NOW, [busy("0", NOW + 100)]).starts_at(Ask(BIG.gpus), gpus(2), booked) == NOW + 100
    assert booked == {"0": WHOLE}


def test_what_was_started_a_moment_ago_counts_as_running() -> None:
    ahead, small = job(1, id=1, timeout_s=10.0), job(1, id=3, timeout_s=5000.0)
    # Job 2 can start on GPUs 1 and 2 when job 1 has ended, in 20 s; job 3 would keep it from that for 5000 s.
    assert tick([busy("0", NOW + 10_000)], [ahead, job(2, id=2), small], gpus(3)) == [1]


def can_start_at(waits: QueuedJob, live: Sequence[LiveAttempt], seats: Sequence[Seat]) -> float | None:
    """When a job gets its devices, if each of these runs until its limit and grace are over; None: never."""
    booked = Ledger()
    for one in live:
        book(one.holds, booked)
    if place(Ask(waits.gpus), seats, booked) is not None:
        return NOW
    for ends_at, one in sorted(
        ((one.deadline_mono + one.job.grace_s, one) for one in live if one.deadline_mono), key=lambda e: e[0]
    ):
        unbook(one.holds, booked)
        if place(Ask(waits.gpus), seats, booked) is not None:
            return max(ends_at, NOW)
    return None


@given(
    st.integers(1, 6),
    st.lists(st.one_of(st.none(), st.floats(1, 5000)), max_size=6),
    st.one_of(st.none(), st.integers(1, 6)),
    st.lists(st.tuples(st.integers(1, 3), st.one_of(st.none(), st.floats(0, 5000)), st.floats(0, 60)), max_size=8),
    st.integers(1, 2),
)
def test_a_job_that_waits_is_never_delayed_by_those_that_overtake_it(
    count: int,
    ends: list[float | None],
    wants: int | None,
    others: list[tuple[int, float | None, float]],
    jobs_per_gpu: int,
) -> None:
    seats = gpus(count, jobs_per_gpu)
    live = []
    for number, ends_in in enumerate(ends[:count]):
        one = busy(str(number), None if ends_in is None else NOW + ends_in, 50 + number)
        one.holds = seats[number].holds
        live.append(one)
    waits = job(wants, id=1)
    queue = [waits] + [
        job(gpu_count, id=number, timeout_s=timeout_s, grace_s=grace_s)
        for number, (gpu_count, timeout_s, grace_s) in enumerate(others, start=2)
    ]
    booked = Ledger()
    for one in live:
        book(one.holds, booked)
    starts = decide(NOW, live, queue, seats, booked).starts
    alone = can_start_at(waits, live, seats)
    if place(Ask(wants), seats, Ledger()) is None:
        return  # it can never start, so nobody waits for it
    if alone == NOW:
        assert started(starts)[0] == 1
    elif alone is None:
        assert starts == []
    else:
        new = [attempt(start.job, started_mono=NOW, holds=start.holds) for start in starts]
        assert can_start_at(waits, [*live, *new], seats) == alone
