"""Who may start ahead of jobs that wait because similar runs have ended in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book
from duckrow.core.devices.needs import Ask
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.backfill import ExpectedOf, Shadow, may_be_passed
from duckrow.core.schedule.decide import decide
from duckrow.core.schedule.explain import WaitingJob, explain
from duckrow.core.schedule.run_times import ExpectedTime, TimeBasis
from tests.core.language import attempt, gpus, job

NOW = 1000.0
BIG = job(2, id=1)


def told(at_least_s: float, at_most_s: float, runs: int = 8) -> ExpectedTime:
    return ExpectedTime((at_least_s + at_most_s) / 2, at_least_s, at_most_s, TimeBasis.SAME, runs)


def known(times: Mapping[int, ExpectedTime]) -> ExpectedOf:
    return lambda asked: times.get(asked.id)


def runs_on(device: str, number: int = 50, **fields: float) -> LiveAttempt:
    """Since 1000, on all of this GPU."""
    return attempt(job(1, id=number, **fields), holds=((device, WHOLE),))


def booked_by(live: Sequence[LiveAttempt]) -> Ledger:
    booked = Ledger()
    for one in live:
        book(one.holds, booked)
    return booked


def tick(
    live: Sequence[LiveAttempt],
    queue: Sequence[QueuedJob],
    seats: Sequence[Seat],
    times: Mapping[int, ExpectedTime],
    now: float = NOW,
) -> list[int]:
    decision = decide(now, live, queue, seats, booked_by(live), expected_of=known(times))
    return [start.job.id for start in decision.starts]


@pytest.mark.parametrize(("at_most_s", "starts"), [(99.0, [2]), (100.0, [2]), (101.0, [])])
def test_a_job_goes_past_if_nine_in_ten_such_runs_end_in_time(at_most_s: float, starts: list[int]) -> None:
    times = {50: told(100, 300), 2: told(1, at_most_s)}
    assert tick([runs_on("0")], [BIG, job(1, id=2)], gpus(2), times) == starts


def test_what_has_run_for_as_long_as_the_shortest_may_end_any_moment() -> None:
    times = {50: told(100, 300), 2: told(10, 20)}
    queue = [BIG, job(1, id=2)]
    assert tick([runs_on("0")], queue, gpus(2), times, NOW + 80) == [2]
    assert tick([runs_on("0")], queue, gpus(2), times, NOW + 81) == []
    assert tick([runs_on("0")], queue, gpus(2), times, NOW + 500) == []


def test_a_few_runs_do_not_tell_how_much_they_differ() -> None:
    queue = [BIG, job(1, id=2)]
    assert tick([runs_on("0")], queue, gpus(2), {50: told(100, 300, runs=3), 2: told(10, 20)}) == []
    assert tick([runs_on("0")], queue, gpus(2), {50: told(100, 300), 2: told(10, 20, runs=3)}) == []


def test_nobody_goes_past_while_the_end_of_what_is_waited_for_is_unknown() -> None:
    assert tick([runs_on("0")], [BIG, job(1, id=2)], gpus(2), {2: told(10, 20)}) == []
    suspended = runs_on("0")
    suspended.suspended_mono = NOW
    assert tick([suspended], [BIG, job(1, id=2)], gpus(2), {50: told(100, 300), 2: told(10, 20)}) == []


def test_time_limits_and_learned_times_count_together() -> None:
    queue = [BIG, job(1, id=2, timeout_s=50.0, grace_s=10.0)]
    assert tick([runs_on("0")], queue, gpus(2), {50: told(60, 300)}) == [2]
    assert tick([runs_on("0")], queue, gpus(2), {50: told(59, 300)}) == []
    limited = runs_on("0", timeout_s=90.0, grace_s=10.0)
    assert tick([limited], [BIG, job(1, id=3)], gpus(2), {3: told(10, 100)}) == [3]
    assert tick([limited], [BIG, job(1, id=3)], gpus(2), {3: told(10, 101)}) == []


@pytest.mark.parametrize(("limit_s", "starts"), [(900.0, [2]), (1000.0, [2]), (1001.0, [])])
def test_a_long_limit_still_counts_where_runs_are_known_to_be_short(limit_s: float, starts: list[int]) -> None:
    """What a person has said of both is a promise, whatever was learned."""
    limited = runs_on("0", timeout_s=1000.0)
    small = job(1, id=2, timeout_s=limit_s)
    assert tick([limited], [BIG, small], gpus(2), {50: told(10, 20)}) == starts


@pytest.mark.parametrize(("live", "asked_for"), [([runs_on("0"), runs_on("1", 51)], []), ([runs_on("0")], [50])])
def test_those_who_wait_are_not_looked_at_if_nobody_could_go_past(
    live: list[LiveAttempt], asked_for: list[int]
) -> None:
    """No device is free; or the first job may start any moment."""
    asked: list[int] = []

    def expected(about: QueuedJob) -> ExpectedTime:
        asked.append(about.id)
        return told(100, 300)

    queue = [BIG, *(job(1, id=number) for number in range(2, 200))]
    assert decide(NOW + 100, live, queue, gpus(2), booked_by(live), expected_of=expected).starts == []
    assert asked == asked_for


def test_one_that_wants_a_single_device_is_never_passed() -> None:
    assert not may_be_passed([job(1, id=1), job(None, id=2), job(0, id=3)])
    assert may_be_passed([job(1, id=1), job(2, id=2)])
    assert may_be_passed([job(1, id=1), job(1, id=2, needs='{"gpu_mem_mb": 1}')])
    assert not may_be_passed([job(2, id=1)])


@pytest.mark.parametrize(("at_most_s", "reasons"), [(90.0, ["1 job comes first"]), (110.0, ["job 1 comes first"])])
def test_why_says_the_same(at_most_s: float, reasons: list[str]) -> None:
    live = [runs_on("0")]
    waiting = WaitingJob(
        ask=Ask(1),
        held=False,
        wait_s=None,
        paused=None,
        waits_for=(),
        limit=None,
        ended_run=None,
        daemon_runs=True,
        seats=tuple(gpus(2)),
        drained=frozenset(),
        booked=booked_by(live),
        holders=(),
        turn=job(1, id=2),
        ahead=((BIG, Ask(2)),),
        ahead_count=1,
        shadow=Shadow(NOW, live, known({50: told(100, 300), 2: told(10, at_most_s)})),
    )
    assert [reason.removesuffix(" and is waiting itself") for reason in explain(waiting)] == reasons


# -- wrong estimates ------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """What similar runs took, and what it really takes."""

    at_least_s: int
    spread_s: int
    really_s: int
    comes_s: int = 0

    @property
    def told(self) -> ExpectedTime:
        return told(self.at_least_s, self.at_least_s + self.spread_s)

    @property
    def overrun_s(self) -> int:
        return max(self.really_s - self.at_least_s - self.spread_s, 0)


class Played(NamedTuple):
    big_started: float
    passed: dict[int, float]  # job -> when


def play(count: int, wants: int, running: Sequence[Run], later: Sequence[Run]) -> Played:
    """Jobs 50, 51, ... run from the beginning, one on each GPU, job 1 waits, and 100, 101, ... come after it."""
    times = {**{50 + n: run for n, run in enumerate(running)}, **{100 + n: run for n, run in enumerate(later)}}
    expected_of = known({number: run.told for number, run in times.items()})
    live = [runs_on(str(number), 50 + number) for number in range(len(running))]
    passed: dict[int, float] = {}
    big, now = job(wants, id=1), NOW
    while True:
        came = [job(1, id=100 + n) for n, run in enumerate(later) if NOW + run.comes_s <= now]
        queue = [big, *(each for each in came if each.id not in passed)]
        for start in decide(now, live, queue, gpus(count), booked_by(live), expected_of=expected_of).starts:
            if start.job is big:
                return Played(now, passed)
            passed[start.job.id] = now
            live.append(attempt(start.job, started_mono=now, holds=start.holds))
        ends = {one.id: one.started.mono + times[one.job.id].really_s for one in live}
        now = min([*ends.values(), *(at for run in later if (at := NOW + run.comes_s) > now)])
        live = [one for one in live if ends[one.id] > now]


RUNS = st.builds(Run, st.integers(1, 100), st.integers(0, 100), st.integers(1, 400), st.integers(0, 300))


@given(st.lists(RUNS, min_size=1, max_size=4), st.integers(0, 2), st.lists(RUNS, max_size=8), st.data())
def test_wrong_estimates_delay_a_job_by_the_longest_overrun_and_not_by_their_sum(
    running: list[Run], free: int, later: list[Run], data: st.DataObject
) -> None:
    count = len(running) + free
    wants = data.draw(st.integers(free + 1, count))
    live = [runs_on(str(number), 50 + number) for number in range(len(running))]
    expected_of = known({50 + number: run.told for number, run in enumerate(running)})
    expected = Shadow(NOW, live, expected_of).expected_start(Ask(wants), gpus(count), booked_by(live))
    assert expected is not None
    alone = play(count, wants, running, [])
    with_others = play(count, wants, running, later)
    overrun_s = max((later[number - 100].overrun_s for number in with_others.passed), default=0)
    assert all(at < expected for at in with_others.passed.values())
    assert with_others.big_started <= max(alone.big_started, expected + overrun_s)
