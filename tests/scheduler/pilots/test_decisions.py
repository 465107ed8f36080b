"""What a pilot decides: which runs it may take, which still fit into its time, and whether it is still needed."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.pilots import PilotFolder
from duckrow.clusters.port import JobFacts, NoAnswer, States
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.clusters.tending import Tending
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.needs import Needs
from duckrow.core.errors import DuckrowError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.schedule.run_times import RunTimes
from duckrow.scheduler.pilots import successors, time_left
from duckrow.scheduler.pilots.share import PilotShare
from duckrow.scheduler.pilots.successors import Successors
from duckrow.scheduler.pilots.time_left import PilotTime
from tests.clusters.conftest import told

HOUR_S = 3600.0


class OwnJobWithTime:
    """A job of a cluster that has this much time left; None: there is no limit."""

    facts = JobFacts("12_0")

    def __init__(self, left_s: float | None = None) -> None:
        self.left_s = left_s
        self.states: dict[str, str] = {}
        self.is_silent = False
        self.asked = 0
        self.whom = "squeue"

    def time_left_s(self) -> float | None:
        self.asked += 1
        return self.left_s

    def start_again(self) -> None: ...

    def ask(self) -> OwnJobWithTime:
        return self

    def answer(self, wait_s: float) -> States:
        self.asked += 1
        if self.is_silent:
            raise NoAnswer("squeue has not answered.")
        return told(self.states)

    def withdraw(self) -> None: ...


class Clock:
    def __init__(self) -> None:
        self.mono = 1000.0

    def monotonic(self) -> float:
        return self.mono


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (time_left, successors):
        monkeypatch.setattr(module, "time", clock)
    return clock


# -- time ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def time_of_job(clock: Clock) -> PilotTime:
    """An hour, of which two minutes are for SLURM and for us."""
    known = PilotTime(OwnJobWithTime(HOUR_S + 120), margin_s=120)
    known.ask_once()
    return known


def spec(name: str = "train", **fields: object) -> JobSpec:
    return JobSpec(f"./{name}", "/", name=name, **fields)  # type: ignore[arg-type]


def test_a_run_is_begun_while_its_time_limit_fits(time_of_job: PilotTime, clock: Clock) -> None:
    clock.mono += 1800
    assert time_of_job.fits(spec(timeout_s=1800))
    assert not time_of_job.refused
    clock.mono += 1
    assert not time_of_job.fits(spec(timeout_s=1800))
    assert time_of_job.refused


def test_a_run_of_which_nothing_is_known_is_begun_to_the_last_second(time_of_job: PilotTime, clock: Clock) -> None:
    clock.mono += HOUR_S - 1
    assert time_of_job.fits(spec())


def test_what_similar_runs_took_counts_and_that_of_others_does_not(time_of_job: PilotTime, clock: Clock) -> None:
    time_of_job.took(spec("long"), 3000)
    clock.mono += 1800
    assert not time_of_job.fits(spec("long"))
    assert time_of_job.fits(spec("short"))


def test_runs_of_one_recipe_are_similar_whatever_their_names(time_of_job: PilotTime, clock: Clock) -> None:
    time_of_job.took(spec("a", needs=Needs(recipe="r")), 3000)
    clock.mono += 1800
    assert not time_of_job.fits(spec("b", needs=Needs(recipe="r")))


def test_a_run_of_another_request_needs_what_it_asked_slurm_for(time_of_job: PilotTime, clock: Clock) -> None:
    clock.mono += 1800
    assert time_of_job.fits(spec(), asked_s=1800)
    assert not time_of_job.fits(spec(), asked_s=1801)


def test_a_run_longer_than_the_whole_is_begun_by_a_pilot_that_has_just_begun(
    time_of_job: PilotTime, clock: Clock
) -> None:
    assert time_of_job.fits(spec(timeout_s=10 * HOUR_S))
    clock.mono += 600
    assert not time_of_job.fits(spec(timeout_s=10 * HOUR_S))


def test_how_long_a_run_takes_is_not_judged_while_any_would_fit(
    time_of_job: PilotTime, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = Mock(return_value=None)
    monkeypatch.setattr(RunTimes, "expected", judged)
    assert time_of_job.fits(spec())
    judged.assert_not_called()
    clock.mono += 1800
    assert time_of_job.fits(spec())
    judged.assert_called_once()


def test_slurm_is_asked_once_and_not_before_the_first_run_has_started(clock: Clock) -> None:
    job = OwnJobWithTime(HOUR_S)
    known = PilotTime(job, margin_s=0)
    assert known.fits(spec())
    assert job.asked == 0
    assert known.fits(spec(timeout_s=60))
    known.ask_once()
    assert job.asked == 1


def test_a_job_without_a_limit_takes_everything(clock: Clock) -> None:
    assert PilotTime(OwnJobWithTime(None), margin_s=120).fits(spec(timeout_s=1e9))


def test_a_job_that_has_less_time_than_the_margin_begins_nothing_long(clock: Clock) -> None:
    pilot = PilotTime(OwnJobWithTime(60.0), margin_s=120)
    pilot.ask_once()
    clock.mono += 1
    assert not pilot.fits(spec(timeout_s=10))


# -- share -----------------------------------------------------------------------------------------------------------


def batch_of(folder: Path, *specs: JobSpec, request: ClusterRequest | None = None) -> Batch:
    ids = range(1, len(specs) + 1)
    return create_batch(str(folder / "batch"), specs, list(ids), request or ClusterRequest(), {}, "python3")


@pytest.fixture
def three_sizes(tmp_path: Path) -> Batch:
    """Run 0 for two hours without a GPU, 1 for one hour with one, 2 the same with two, on a partition that it names."""
    asks = ({"time": "2:00:00"}, {"time": "1:00:00"}, {"time": "1:00:00", "partition": "other"})
    return batch_of(tmp_path, *(JobSpec("true", "/", gpus=n, slurm=ask) for n, ask in enumerate(asks)))


def test_a_pilot_takes_what_asks_for_as_much_as_it_has_or_for_less(three_sizes: Batch) -> None:
    groups = [three_sizes.group_of(run) for run in range(3)]
    large, small, other = (PilotShare(three_sizes, group) for group in groups)
    assert [large.is_ours(run) for run in range(3)] == [True, False, False]
    assert [large.may_take(run) for run in range(3)] == [True, False, False]
    assert [small.may_take(run) for run in range(3)] == [False, True, False]
    assert [other.may_take(run) for run in range(3)] == [False, True, True]


def test_a_run_of_another_request_is_given_the_time_that_it_asked_for(three_sizes: Batch) -> None:
    large = PilotShare(three_sizes, three_sizes.group_of(0))
    assert large.time_of(0) is None
    assert large.time_of(1) == HOUR_S


def test_a_pilot_has_as_many_gpus_as_its_runs_ask_for(three_sizes: Batch) -> None:
    assert PilotShare(three_sizes, three_sizes.group_of(1)).gpus == {1}
    assert PilotShare(three_sizes, three_sizes.group_of(2)).gpus == {1, 2}


@pytest.mark.parametrize(
    ("needs", "is_by_memory"),
    [(Needs(), False), (Needs(cpus=2), False), (Needs(gpu_mem_mb=1), True), (Needs(auto=True, recipe="r"), True)],
)
def test_runs_that_say_something_of_gpu_memory_share_gpus_by_it(
    tmp_path: Path, needs: Needs, is_by_memory: bool
) -> None:
    batch = batch_of(tmp_path, JobSpec("true", "/"), JobSpec("true", "/", needs=needs))
    assert PilotShare(batch, 0).is_by_memory == is_by_memory


# -- successors ------------------------------------------------------------------------------------------------------


@pytest.fixture
def slurm() -> OwnJobWithTime:
    """What squeue says to the pilot 12_0."""
    return OwnJobWithTime()


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return batch_of(tmp_path, JobSpec("true", "/"), JobSpec("true", "/"))


def test_the_last_pilot_sees_to_all_that_is_left(batch: Batch, slurm: OwnJobWithTime, clock: Clock) -> None:
    PilotFolder(batch, "12_0").renew({})
    slurm.states = {"12_0": "RUNNING"}
    assert Successors(batch, SlurmCluster(), slurm).left_over() == [0, 1]


def test_nothing_is_left_over_when_all_is_done(batch: Batch, slurm: OwnJobWithTime, clock: Clock) -> None:
    pilot, claims = PilotFolder(batch, "12_0"), Claims(batch)
    pilot.renew({})
    for run in (0, 1):
        claims.take(pilot.card, run)
        claims.finish(run, 1, {"outcome": "succeeded"})
    assert Successors(batch, SlurmCluster(), slurm).left_over() == []
    assert slurm.asked == 0


def test_where_slurm_does_not_answer_others_see_to_it(batch: Batch, slurm: OwnJobWithTime, clock: Clock) -> None:
    PilotFolder(batch, "12_0").renew({})
    slurm.is_silent = True
    assert Successors(batch, SlurmCluster(), slurm).left_over() == []


def test_slurm_is_asked_every_five_seconds_or_when_something_has_changed(
    batch: Batch, slurm: OwnJobWithTime, clock: Clock
) -> None:
    last = Successors(batch, SlurmCluster(), slurm)
    for _ in range(3):
        last.left_over()
    assert slurm.asked == 1
    clock.mono += 5
    last.left_over()
    assert slurm.asked == 2
    last.ask_again()
    last.left_over()
    assert slurm.asked == 3


def test_slurm_jobs_that_would_find_nothing_are_cancelled_once_all_is_done(
    batch: Batch, slurm: OwnJobWithTime, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[str] = []

    def cancel(tending: Tending) -> None:
        cancelled.append("useless")
        raise DuckrowError("scancel has not answered.")

    monkeypatch.setattr(Tending, "cancel_useless", cancel)
    monkeypatch.setattr(Tending, "all_began", lambda _: False)
    pilot, claims = PilotFolder(batch, "12_0"), Claims(batch)
    pilot.renew({})
    for run in (0, 1):
        Successors(batch, SlurmCluster(), slurm).cancel_useless()
        assert cancelled == []
        claims.take(pilot.card, run)
        claims.finish(run, 1, {"outcome": "succeeded"})
    Successors(batch, SlurmCluster(), slurm).cancel_useless()  # that scancel does not answer is nobody's trouble
    assert cancelled == ["useless"]
