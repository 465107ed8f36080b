"""What is asked of every cluster. Each runs it in a `test_contract.py` that gives it a fixture `site`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.pilots import read_pilots
from duckrow.clusters.port import (
    GONE,
    Cluster,
    ClusterJob,
    ClusterRefused,
    JobPhase,
    PilotArray,
    PilotJobs,
    TooMany,
    answer_within,
)
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.jobs.job import JobSpec
from tests.conftest import until

GATED = "until test -e {gate}; do sleep 0.05; done"
NOWHERE = "no-such-partition"


class Site:
    """A cluster with room for two jobs at least, that takes arrays of five, and batches for it."""

    def __init__(self, cluster: Cluster, folder: Path, on: str) -> None:
        self.cluster = cluster
        self.gate = folder / "gate"
        self._folder = folder
        self._on = on
        self._batches = 0

    def batch(self, runs: int = 2, command: str = GATED, partition: str | None = None) -> Batch:
        """Of runs that go on until the gate is open."""
        self._batches += 1
        request = ClusterRequest(on=self._on, runs_per_job=1, partition=partition, lease=1000.0)
        specs = [JobSpec(command.format(gate=self.gate), "/") for _ in range(runs)]
        folder = str(self._folder / f"batch-{self._batches}")
        return create_batch(folder, specs, range(1, runs + 1), request, dict(os.environ), sys.executable)

    def submit(self, batch: Batch, *indices: int, at_a_time: int | None = None, after: int | None = None) -> list[str]:
        array = self.cluster.submit(pilots_of(batch), PilotArray(indices, at_a_time=at_a_time, after=after))
        return [f"{array}_{index}" for index in indices]

    def has_pilot(self, batch: Batch, name: str) -> bool:
        answer_within(self.cluster.ask())
        return os.path.exists(f"{batch.pilots}/{name}/card")

    def process_of_run(self, batch: Batch) -> int:
        """Of its first run, once that has begun."""
        found: list[int] = []

        def has_begun() -> bool:
            answer_within(self.cluster.ask())
            found.extend(pilot.running[0]["pid"] or 0 for pilot in read_pilots(batch) if 0 in pilot.running)
            return any(found)

        until(has_begun, "a run to begin")
        return next(filter(None, found))

    def open_the_gate(self) -> None:
        self.gate.touch()

    def job(self, name: str) -> ClusterJob:
        states = answer_within(self.cluster.ask())
        return states.get(name) or states.get(name.partition("_")[0], GONE)

    def wait(self, is_so: Callable[[ClusterJob], bool], *names: str) -> None:
        until(lambda: all(is_so(self.job(name)) for name in names), f"{', '.join(names)}: another phase")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def pilots_of(batch: Batch) -> PilotJobs:
    return PilotJobs(batch.folder, batch.request, batch.python, 0, batch.script(0), batch.environment())


def runs(job: ClusterJob) -> bool:
    return job.runs


def is_over(job: ClusterJob) -> bool:
    return not job.runs and not job.waits


class ClusterContract:
    def test_submitted_jobs_become_pilots_that_know_their_names_and_do_the_runs(self, site: Site) -> None:
        batch = site.batch(2)
        jobs = site.submit(batch, 0, 1)
        site.wait(runs, *jobs)
        until(lambda: len(os.listdir(batch.claims)) == 2, "the runs to be taken")
        assert sorted(name for name in os.listdir(batch.pilots) if not name.endswith(".log")) == [
            f"{j}.0" for j in jobs
        ]
        site.open_the_gate()
        site.wait(is_over, *jobs)
        assert {site.job(job).phase for job in jobs} <= {JobPhase.ENDED, JobPhase.GONE}
        claims = Claims(batch)
        claims.look()
        assert [(claims.result(run) or {}).get("outcome") for run in (0, 1)] == ["succeeded", "succeeded"]
        assert all(os.path.exists(f"{batch.pilots}/{job}.log") for job in jobs)

    def test_arrays_have_numbers_that_grow(self, site: Site) -> None:
        batch = site.batch(3)
        arrays = [int(site.submit(batch, 0)[0].partition("_")[0]) for _ in range(3)]
        assert arrays == sorted(set(arrays))

    def test_an_array_waits_for_the_end_of_the_one_that_it_comes_after(self, site: Site) -> None:
        (first,) = site.submit(batch := site.batch(1), 0)
        (second,) = site.submit(site.batch(1, "true"), 0, after=int(first.partition("_")[0]))
        site.wait(runs, first)
        assert site.job(second).waits
        site.open_the_gate()
        site.wait(is_over, first, second)
        assert batch.count == 1

    def test_a_pilot_that_was_killed_has_its_job_started_again(self, site: Site) -> None:
        batch = site.batch(1)
        (job,) = site.submit(batch, 0)
        os.kill(parent_of(site.process_of_run(batch)), signal.SIGKILL)  # its keeper is left, and asks for it
        until(lambda: site.has_pilot(batch, f"{job}.1"), "the second life of a job")
        site.wait(runs, job)

    def test_no_more_of_an_array_run_than_may_run_at_a_time(self, site: Site) -> None:
        first, second = site.submit(site.batch(2), 0, 1, at_a_time=1)
        site.wait(runs, first)
        assert site.job(second).waits
        site.open_the_gate()
        site.wait(is_over, first, second)

    def test_a_job_that_is_cancelled_is_told_and_ends_cancelled(self, site: Site) -> None:
        batch = site.batch(1)
        (job,) = site.submit(batch, 0)
        site.process_of_run(batch)
        site.cluster.cancel([job])
        site.wait(lambda state: state.phase is JobPhase.CANCELLED, job)
        claims = Claims(batch)
        claims.look()
        assert claims.free() == [0]  # its pilot gave it back

    def test_a_whole_array_is_cancelled_by_its_number_but_what_runs_may_go_on(self, site: Site) -> None:
        first, second = site.submit(site.batch(2), 0, 1, at_a_time=1)
        site.wait(runs, first)
        site.cluster.cancel([first.partition("_")[0]], only_waiting=True)
        site.wait(lambda state: state.phase is JobPhase.CANCELLED, second)
        assert site.job(first).runs
        site.cluster.cancel([first.partition("_")[0]])
        site.wait(is_over, first)
        site.cluster.cancel([first, second])  # they have ended; cancelling them is not an error
        site.cluster.cancel([])

    def test_what_cannot_be_had_is_refused_and_nothing_is_submitted(self, site: Site) -> None:
        batch = site.batch(1, partition=NOWHERE)
        before = len(answer_within(site.cluster.ask()))
        with pytest.raises(ClusterRefused):
            site.cluster.check(pilots_of(batch))
        with pytest.raises(ClusterRefused) as refused:
            site.submit(batch, 0)
        assert not isinstance(refused.value, TooMany)
        site.cluster.check(pilots_of(site.batch(1)))
        assert len(answer_within(site.cluster.ask())) == before
        assert NOWHERE in site.cluster.in_words(batch.request)

    def test_an_array_may_be_as_large_as_it_says_and_no_larger(self, site: Site) -> None:
        size = site.cluster.limits().array_size
        batch = site.batch(size, "true")
        assert len(site.submit(batch, *range(size), at_a_time=1)) == size
        with pytest.raises(TooMany):
            site.submit(batch, *range(size + 1))

    def test_a_question_keeps_nobody_waiting_and_may_be_withdrawn(self, site: Site) -> None:
        question = site.cluster.ask()
        question.answer(0.0)  # what it is, or None
        question.withdraw()
        assert question.whom

    def test_a_dry_run_shows_what_would_be_submitted(self, site: Site) -> None:
        batch = site.batch(1)
        assert batch.folder in site.cluster.preview(pilots_of(batch), PilotArray([0, 1]))

    def test_a_cluster_is_a_key_and_leaves_a_plain_command_as_it_is(self, site: Site) -> None:
        assert {site.cluster: 1}[site.cluster] == 1
        assert site.cluster.command_of(ClusterRequest(), "echo hello") == "echo hello"
