"""The runs that a pilot has taken: events of the loop and of the cluster in, claims and results in the batch out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.pilots import PilotFolder
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import JobSpec
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.scheduler.pilots.runs import PilotRuns
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, dies_of, fails, runs, slots, succeeds


class Pilot:
    """A pilot with two slots, and the folder of its batch; `does`: what each of its runs does."""

    def __init__(self, queue: Queue, batch: Batch, *does: Behaviour, quota: int | None = None) -> None:
        self.queue, self.claims = queue, Claims(batch)
        self.loop = queue.host().loop
        for run, behaviour in zip(batch.runs, does, strict=True):
            queue.expect(run.job_id, behaviour)
        folder = PilotFolder(batch, "12_0")
        folder.renew({})
        facts = {"pilot": "12_0", "node": "n1"}
        self.runs = PilotRuns(SlurmCluster(), self.claims, Taker(self.claims, folder.card), self.loop, {}, facts, quota)
        queue.told.ended = self.runs.ended  # type: ignore[method-assign]

    def passes(self, seconds: float) -> None:
        """Time passes, and what has ended by then is written."""
        self.queue.passes(seconds)
        self.runs.write_ends()

    def result_of(self, run: int) -> dict[str, Any] | None:
        self.claims.look()
        return self.claims.result(run)

    def outcomes(self) -> list[str | None]:
        found = [self.result_of(run) for run in range(len(self.claims.batch.runs))]
        return [None if result is None else result["outcome"] for result in found]


MakePilot = Callable[..., Pilot]


@pytest.fixture
def make_pilot(make_queue: MakeQueue, tmp_path: Path) -> MakePilot:
    def make(*does: Behaviour, request: ClusterRequest | None = None, quota: int | None = None, **asked: Any) -> Pilot:
        specs = [JobSpec("true", "/", gpus=0, **asked) for _ in does]
        ids = list(range(1, len(specs) + 1))
        batch = create_batch(str(tmp_path / "batch"), specs, ids, request or ClusterRequest(), {}, "python3")
        return Pilot(make_queue(slots(2)), batch, *does, quota=quota)

    return make


class Clock:
    """The clock of the machine, which says when it is worth while to look again."""

    def __init__(self) -> None:
        self.s = time.monotonic()

    def __call__(self) -> float:
        return self.s


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("duckrow.scheduler.pilots.runs.time.monotonic", clock)
    return clock


def test_what_is_taken_runs_and_its_result_is_in_the_batch(make_pilot: MakePilot) -> None:
    pilot = make_pilot(succeeds(), fails(code=3))
    assert pilot.runs.take(5)
    assert pilot.runs.busy == 2
    pilot.passes(1)
    assert pilot.outcomes() == ["succeeded", "failed"]
    result = pilot.result_of(1)
    assert result is not None
    assert (result["exit_code"], result["pilot"], len(result["attempts"])) == (3, "12_0", 1)
    assert pilot.runs.taken == {}


def test_no_more_is_taken_than_is_asked_for_or_than_the_quota_says(make_pilot: MakePilot) -> None:
    pilot = make_pilot(*[runs()] * 4, quota=3)
    pilot.runs.take(2)
    assert pilot.claims.free() == [2, 3]
    pilot.runs.take(5)
    assert pilot.claims.free() == [3]
    assert not pilot.runs.may_take


def test_who_found_nothing_looks_again_only_after_a_while(make_pilot: MakePilot, clock: Clock) -> None:
    pilot = make_pilot(runs(), runs())
    another = PilotFolder(pilot.claims.batch, "13_0")
    another.renew({})
    assert pilot.claims.take(another.card, 1) == 1
    pilot.runs.take(1)
    assert not pilot.runs.take(1)
    pilot.claims.release(1, 1, "given back")
    assert not pilot.runs.take(1)
    clock.s += 2.1
    assert pilot.runs.take(1)


def test_the_next_run_is_taken_before_the_result_of_the_one_before_is_written(make_pilot: MakePilot) -> None:
    """Writing takes as long as the file server likes, and its place would be idle."""
    pilot = make_pilot(succeeds(), runs())
    pilot.runs.take(1)
    pilot.queue.passes(1)
    assert (pilot.runs.has_ends, pilot.runs.busy, pilot.outcomes()) == (True, 0, [None, None])
    assert pilot.runs.take(1)
    assert (pilot.runs.busy, pilot.claims.free()) == (1, [])
    pilot.runs.write_ends()
    assert (pilot.runs.has_ends, pilot.outcomes()) == (False, ["succeeded", None])


def test_a_retry_keeps_the_claim_and_counts(make_pilot: MakePilot) -> None:
    pilot = make_pilot(fails(), retries=1, backoff_s=60.0)
    pilot.runs.take(1)
    pilot.passes(1)
    assert (pilot.outcomes(), pilot.runs.busy) == ([None], 0)
    assert pilot.runs.taken[1].retries_used == 1
    pilot.passes(60 + 1)
    assert pilot.outcomes() == ["failed"]


def test_a_run_that_a_signal_ended_may_have_got_one_that_was_meant_for_the_pilot(
    make_pilot: MakePilot, clock: Clock
) -> None:
    pilot = make_pilot(dies_of(15))
    pilot.runs.take(1)
    pilot.passes(1)
    assert pilot.outcomes() == [None]
    clock.s += 1.1
    pilot.runs.write_ends()
    assert pilot.outcomes() == ["killed"]


def test_what_a_signal_ended_just_before_the_pilot_was_told_to_end_is_given_back(make_pilot: MakePilot) -> None:
    pilot = make_pilot(dies_of(15))
    pilot.runs.take(1)
    pilot.passes(1)
    pilot.runs.interrupted = "the time limit"
    pilot.runs.give_back_rest()
    assert (pilot.outcomes(), pilot.claims.free()) == ([None], [0])
    assert pilot.claims.interruptions(0) == 1


def test_a_run_that_was_interrupted_too_often_is_given_up(make_pilot: MakePilot) -> None:
    pilot = make_pilot(runs(), request=ClusterRequest(max_interruptions=0))
    pilot.runs.take(1)
    pilot.queue.passes()
    pilot.runs.interrupted = "the time limit"
    pilot.queue.kill(1)
    pilot.passes(60)
    result = pilot.result_of(0)
    assert result is not None
    assert (result["outcome"], result["detail"]) == ("timed-out", "interrupted too often; last: the time limit")


def test_a_run_that_is_killed_by_a_person_is_killed_before_and_after_its_start(make_pilot: MakePilot) -> None:
    pilot = make_pilot(*[runs()] * 3)
    pilot.runs.take(3)
    pilot.queue.passes()
    assert pilot.runs.kill(0, at_once=True)
    assert pilot.runs.kill(2, at_once=False)  # which waits for a slot
    pilot.passes(1)
    assert pilot.outcomes() == ["killed", None, "killed"]
    assert not pilot.runs.kill(2, at_once=False)


def test_a_run_that_can_never_start_here_is_refused_with_the_reason(make_pilot: MakePilot) -> None:
    pilot = make_pilot(runs(), needs=Needs(cpus=64))
    pilot.runs.take(1)
    pilot.runs.refuse_impossible(slots(2), pilot.queue.known._replace(cpus=2))
    result = pilot.result_of(0)
    assert result is not None
    assert result["outcome"] == "failed"
    assert result["detail"].startswith("it can never start in this SLURM job.")


def test_a_result_that_cannot_be_written_is_told_and_tried_again(
    make_pilot: MakePilot, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = make_pilot(succeeds(), runs())

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(pilot.claims, "finish", refuse)
        pilot.runs.take(1)
        pilot.passes(1)
    assert pilot.queue.told.sentences == ["The result of job 1 cannot be written: No space left on device."]
    assert pilot.runs.take(1)  # nothing is taken before it is written
    assert pilot.claims.free() == [1]
    pilot.runs.write_ends()
    assert pilot.outcomes() == ["succeeded", None]
