"""Runs of one batch that ask a cluster for different things."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.core.clusters.groups import check_own_request, group_runs, satisfies, told_apart, too_long
from duckrow.core.clusters.request import ClusterRequest, request_from
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec


def run(slurm: dict[str, Any] | None = None, gpus: int | None = None) -> JobSpec:
    return JobSpec("true", "/", slurm=slurm, gpus=gpus)


def test_runs_that_ask_for_the_same_are_a_group_and_others_are_not() -> None:
    base = ClusterRequest(partition="dev", gres="gpu:2", runs_per_job=4)
    big = {"partition": "big", "gpus_per_node": "h100:1"}
    groups = group_runs(base, [run(), run(big), run(), run({"time": "2h"}), run(dict(big))])
    assert groups.of_runs == [0, 1, 0, 2, 1]
    assert groups.requests[0] == base
    assert groups.requests[1] == ClusterRequest(partition="big", gpus_per_node="h100:1", runs_per_job=4)
    assert groups.requests[2].time == 7200.0
    assert told_apart(groups.requests)[:2] == [
        "partition=dev, no time, gres=gpu:2, no gpus_per_node",
        "partition=big, no time, no gres, gpus_per_node=h100:1",
    ]


def test_each_group_is_asked_for_the_gpus_that_its_own_runs_need() -> None:
    groups = group_runs(ClusterRequest(), [run(gpus=1), run({"partition": "big"}, gpus=4)])
    assert [request.gres for request in groups.requests] == ["gpu:1", "gpu:4"]
    with pytest.raises(UsageError, match="A run needs 2 GPUs, but each SLURM job gets 1"):
        group_runs(ClusterRequest(gres="gpu:4"), [run(gpus=4), run({"gres": "gpu:h100:1"}, gpus=2)])


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"partitoin": "x"}, "Did you mean partition?"),
        ({"lease": "3s"}, "A job cannot ask for 'lease' by itself"),
        ({"time": "60"}, "time must say its unit"),
        ({"nodes": 0}, "nodes must be a whole number"),
    ],
)
def test_what_a_run_cannot_ask_for_is_told(own: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        check_own_request(own)
    assert said in str(error.value)


def test_what_cannot_be_dealt_to_different_slurm_jobs_is_refused() -> None:
    with pytest.raises(UsageError, match="--fixed-chunks does not go with"):
        group_runs(ClusterRequest(runs_per_job=2, fixed_chunks=True), [run(), run({"partition": "big"})])
    with pytest.raises(UsageError, match="All jobs of a batch go to one cluster"):
        group_runs(ClusterRequest(), [run(), run({"sbatch": ["-Mother"]})])


def test_a_time_limit_that_is_longer_than_that_of_the_slurm_job_is_told() -> None:
    long = JobSpec("true", "/", timeout_s=8 * 3600.0)
    said = too_long(group_runs(ClusterRequest(time=7200.0), [run(), long]), [run(), long])
    assert said.startswith("Runs may take 8h 00m (--timeout), and a SLURM job ends after 2h 00m (--time).")
    assert said.endswith("--time 480m")
    own = JobSpec("true", "/", timeout_s=8 * 3600.0, slurm={"time": "8h"})
    for request, spec in ((ClusterRequest(), long), (ClusterRequest(time=7200.0), own)):
        assert too_long(group_runs(request, [spec]), [spec]) == ""


@pytest.mark.parametrize(
    ("given", "wanted", "enough"),
    [
        ({}, {}, True),
        ({"partition": "big"}, {}, True),  # who names no partition takes any
        ({"partition": "big"}, {"partition": "dev"}, False),
        ({}, {"partition": "big"}, False),
        ({"gres": "gpu:h100:1"}, {"gres": "gpu:1"}, True),
        ({"gres": "gpu:1"}, {"gres": "gpu:h100:1"}, False),
        ({"gres": "gpu:a100:2"}, {"gres": "gpu:h100:1"}, False),
        ({"gpus_per_node": "h100:4"}, {"gres": "gpu:h100:2"}, True),
        ({"gres": "gpu:1"}, {"gres": "gpu:2"}, False),
        ({"gres": "gpu:1"}, {}, False),  # a GPU is not given to those who need none
        ({"gres": "gpu:2,tmp:5"}, {"gres": "gpu:1"}, True),
        ({"gres": "gpu:2"}, {"gres": "gpu:1,tmp:5"}, False),
        ({"time": "8h"}, {"time": "2h"}, True),
        ({"time": "2h"}, {"time": "8h"}, False),
        ({"time": "2h"}, {}, False),  # nobody knows how long that would have been
        ({}, {"time": "2h"}, False),
        ({"mem": "64G"}, {"mem": "8000M"}, True),
        ({"mem": "0"}, {"mem": "8G"}, False),
        ({"mem": "8G"}, {"mem": "0"}, False),
        ({"cpus_per_task": 8}, {"cpus_per_task": 2}, True),
        ({"cpus_per_task": 2}, {"cpus_per_task": 8}, False),
        ({"account": "a"}, {}, False),
        ({"container": "a.sif"}, {}, False),
        ({"modules": ["cuda"]}, {"modules": ["cuda"]}, True),
        ({"nodes": 2}, {}, False),
        ({"sbatch": ["--exclusive"]}, {}, False),
    ],
)
def test_a_slurm_job_takes_runs_for_which_it_has_enough(
    given: dict[str, Any], wanted: dict[str, Any], enough: bool
) -> None:
    assert satisfies(request_from(given), request_from(wanted)) == enough
