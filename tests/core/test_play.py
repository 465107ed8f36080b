"""What holds on a machine on which jobs come and go, and others use the GPUs as they like."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from random import Random
from typing import NamedTuple

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book, cpu_seats, unbook
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import is_packed
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.backfill import MOST_OVERTAKERS, TOGETHER_S
from duckrow.core.schedule.decide import Start, decide, plain_ask
from duckrow.core.schedule.placement import place, refusal
from tests.core.memory_language import gpus, job, machine_of

pytestmark = pytest.mark.no_cover  # if measured, days of play take three times as long

STEP_S = 120.0
LONGEST = 6  # steps of a job
BUSY_STEPS = 14  # in which jobs come, and others use the GPUs
DAYS = 150  # with about 3,500 moments
DAYS_AGAIN = 50


class Step(NamedTuple):
    """What was so at a moment, and what was decided."""

    now: float
    machine: Machine
    queue: list[QueuedJob]
    before: Ledger
    starts: list[Start]
    after: Ledger
    running: list[LiveAttempt]  # with those that have just started

    @property
    def waiting(self) -> list[QueuedJob]:
        started = {start.job.id for start in self.starts}
        return [each for each in self.queue if each.id not in started]


class Play:
    """A day at random, but the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = random = Random(seed)
        self._stage = gpus(
            *random.choices(["8G", "24G", "40G"], k=random.randint(1, 4)), jobs_per_gpu=random.choice([1, 1, 2])
        )
        self.seats: list[Seat] = [*self._stage.seats, *cpu_seats(2, side=True)]
        self._policy = Policy(jobs_per_gpu=random.choice([None, None, 1, 2, 3]))
        self._used: dict[str, str] = {}
        self._ends: dict[int, int] = {}  # job -> at which step
        self.steps = self._play()

    def _play(self) -> list[Step]:
        booked, queue, live = Ledger(), list[QueuedJob](), dict[int, LiveAttempt]()
        steps: list[Step] = []
        number = came = 0
        while len(steps) < BUSY_STEPS or (self._any_able(queue) and len(steps) < BUSY_STEPS + (came + 1) * LONGEST):
            turn, now = len(steps), 1000.0 + STEP_S * len(steps)
            for job_id in [job_id for job_id in live if self._ends[job_id] <= turn]:
                unbook(live.pop(job_id).holds, booked)
            for _ in range(self._random.choice([0, 1, 1, 3]) if turn < BUSY_STEPS else 0):
                came += 1
                number += self._random.choice([1, 1, 100])  # jobs of other hosts come between
                queue.append(self._random_job()._replace(id=number, created_at=now))
            queue.sort(key=lambda each: (-each.priority, each.id))
            machine = machine_of(self._stage, self._others_use(turn), self._policy)
            step = self._decide(now, machine, queue, booked, live)
            steps.append(step)
            queue = step.waiting
        return steps

    def _any_able(self, queue: list[QueuedJob]) -> bool:
        return any(refusal(plain_ask(each), self.seats, machine_of(self._stage)) is None for each in queue)

    def _decide(
        self, now: float, machine: Machine, queue: list[QueuedJob], booked: Ledger, live: dict[int, LiveAttempt]
    ) -> Step:
        before = Ledger(booked)
        starts = decide(now, live.values(), queue, self.seats, booked, None, machine).starts
        for start in starts:
            book(start.holds, booked)
            live[start.job.id] = LiveAttempt(1, start.job, "", start.holds, Now(now, now, now), "", 1)
            limit = LONGEST if start.job.timeout_s is None else int(start.job.timeout_s / STEP_S)
            self._ends[start.job.id] = round((now - 1000.0) / STEP_S) + self._random.randint(1, limit)
        return Step(now, machine, list(queue), before, list(starts), Ledger(booked), list(live.values()))

    def _others_use(self, turn: int) -> dict[str, str]:
        """They come and go, also where a job of ours is; in the end they are gone."""
        for gpu, total_mb in self._stage.total_mb.items():
            if self._random.random() < 0.2:
                self._used[gpu] = f"{self._random.randint(0, total_mb)}M"
        return self._used if turn < BUSY_STEPS else {}

    def _random_job(self) -> QueuedJob:
        random = self._random
        some, size = random.randint(1, 3), f"{random.randint(1, 30_000)}M"
        packed = job(size, random.choice([None, 1, some]))
        others = [
            job(gpus=some),
            job(),
            job(gpus=0),
            job(total=size),
            job(alone=True, gpus=some),
            job(larger_than=size),
        ]
        limit = random.choice([None, None, STEP_S, LONGEST * STEP_S])
        chosen = random.choice([packed, packed, packed, random.choice(others)])
        return chosen._replace(timeout_s=limit, grace_s=0.0, priority=random.choice([30, 30, 30, 50]))


class Days:
    """Other days whenever the tests run; the same for all tests of a process, for to play takes longer than to look."""

    def __init__(self, seeds: list[int]) -> None:
        self._seeds = seeds

    @cached_property
    def _plays(self) -> list[Play]:
        """Within the first test that looks: coverage measures what a fixture does, also for tests marked `no_cover`."""
        return [Play(seed) for seed in self._seeds]

    def __iter__(self) -> Iterator[Play]:
        for play in self._plays:
            print(f"Play({play.seed})")  # the last that a test which fails has printed is the one to look at
            yield play


@pytest.fixture(scope="module")
def plays() -> Days:
    random = Random()
    return Days([random.randrange(1 << 40) for _ in range(DAYS)])


def test_never_is_more_given_out_than_there_is(plays: Days) -> None:
    for _, step in moments(plays):
        assert all(0 <= share <= WHOLE for share in step.after.values())
        booked = Ledger(step.before)
        for start in step.starts:
            by_memory = plain_ask(start.job).mb is not None or plain_ask(start.job).total_mb is not None
            for device, share in start.holds:
                booked[device] = booked.get(device, 0) + share
                assert not by_memory or booked[device] + step.machine.pressure.get(device, 0) <= WHOLE
        assert booked == step.after
        held = Ledger()
        for attempt in step.running:
            for device, share in attempt.holds:
                held[device] = held.get(device, 0) + share
        assert held == {device: share for device, share in step.after.items() if share}


def test_a_gpu_of_ones_own_has_one_holder(plays: Days) -> None:
    for _, step in moments(plays):
        for attempt in step.running:
            ask = plain_ask(attempt.job)
            whole = {device for device, share in attempt.holds if share == WHOLE}
            assert not (ask.alone or ask.larger_than_mb) or len(whole) == len(attempt.holds)
            others = [other for other in step.running if other is not attempt]
            assert not any(device in whole for other in others for device, _ in other.holds)


def test_no_more_jobs_share_a_gpu_than_may(plays: Days) -> None:
    for _, step in moments(plays):
        most = step.machine.policy.jobs_per_gpu
        for start in step.starts:
            if most is not None and plain_ask(start.job).mb is not None:
                for device, _ in start.holds:
                    assert step.after.jobs[device] <= most or any(
                        device in dict(other.holds) and plain_ask(other.job).mb is None for other in step.running
                    )


def test_whoever_is_overtaken_came_together_with_the_other_or_is_not_delayed(plays: Days) -> None:
    for play, step in moments(plays):
        for waits in step.waiting:
            if refusal(plain_ask(waits), play.seats, step.machine) is not None:
                continue
            for start in step.starts:
                if is_ahead(waits, start.job) and same_kind(waits, start.job):
                    assert came_together(waits, start.job) or start.job.timeout_s is not None


def test_no_packed_job_waits_beside_room_that_nobody_keeps_from_it(plays: Days) -> None:
    for play, step in moments(plays):
        for waits in step.waiting:
            before_it = [each for each in step.waiting if is_ahead(each, waits) and same_kind(each, waits)]
            if all(came_together(each, waits) for each in before_it) and is_packed(plain_ask(waits)):
                assert place(plain_ask(waits), play.seats, step.after, step.machine) is None


def test_everybody_who_could_start_at_all_has_started_in_the_end(plays: Days) -> None:
    for play in plays:
        last = play.steps[-1]
        assert not [each for each in last.waiting if refusal(plain_ask(each), play.seats, last.machine) is None]


def test_the_same_day_goes_the_same_way(plays: Days) -> None:
    for play, _ in zip(plays, range(DAYS_AGAIN), strict=False):
        assert Play(play.seed).steps == play.steps


def test_the_same_moment_is_decided_the_same_way_and_changes_nothing(plays: Days) -> None:
    for play, step in moments(plays):
        new = {start.job.id for start in step.starts}
        live = [attempt for attempt in step.running if attempt.job.id not in new]
        booked, queue = Ledger(step.before), list(step.queue)
        assert decide(step.now, live, queue, play.seats, booked, None, step.machine).starts == step.starts
        assert (booked, booked.jobs, queue) == (step.before, step.before.jobs, step.queue)


def moments(plays: Days) -> Iterator[tuple[Play, Step]]:
    return ((play, step) for play in plays for step in play.steps)


def is_ahead(one: QueuedJob, other: QueuedJob) -> bool:
    return (-one.priority, one.id) < (-other.priority, other.id)


def same_kind(one: QueuedJob, other: QueuedJob) -> bool:
    return (one.gpus == 0) == (other.gpus == 0)


def came_together(first: QueuedJob, later: QueuedJob) -> bool:
    """Written down once more, so that the rule is not its own witness."""
    packed = [plain_ask(each).mb is not None and not plain_ask(each).alone for each in (first, later)]
    near = later.created_at - first.created_at <= TOGETHER_S and later.id - first.id <= MOST_OVERTAKERS
    return all(packed) and first.priority == later.priority and near
