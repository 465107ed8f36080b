"""What a job of a cluster was given, as the batch system and its variables tell."""

from __future__ import annotations

import pytest

from duckrow.clusters.slurm.own_job import allocation_in
from duckrow.core.ports import Allocation
from duckrow.devices.allocation import allocated_offer, given_cores, given_gpus, gpu_seats
from duckrow.devices.discover import cores


@pytest.mark.parametrize(
    ("environment", "gpus"),
    [
        ({}, []),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, ["0", "1"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1234-5678"}, ["GPU-1234-5678"]),
        ({"SLURM_JOB_GPUS": "2,3"}, ["2", "3"]),
        ({"CUDA_VISIBLE_DEVICES": "00,01"}, ["0", "1"]),
    ],
)
def test_only_gpus_that_the_job_was_given_are_used(environment: dict[str, str], gpus: list[str]) -> None:
    assert given_gpus(allocation_in(environment), environment) == gpus


@pytest.mark.parametrize(
    ("gpus", "parallel", "groups"),
    [
        ("0123", None, ["0", "1", "2", "3"]),
        ("0123", 2, ["01", "23"]),
        ("012", 2, ["01", "2"]),
        ("01", 4, ["0", "0", "1", "1"]),
        ("01", 3, ["0", "0", "1"]),
    ],
)
def test_places_are_groups_of_gpus_or_shares_of_one(gpus: str, parallel: int | None, groups: list[str]) -> None:
    seats = gpu_seats(list(gpus), parallel, None)
    assert ["".join(seat.devices) for seat in seats] == groups


def test_without_gpus_there_are_as_many_places_as_runs_are_wanted_or_as_cores() -> None:
    assert len(allocated_offer(7, False, (None,), Allocation(), {}).seats) == 7
    assert len(allocated_offer(None, False, (None,), Allocation(), {}).seats) == cores()
    assert len(allocated_offer(None, False, (None,), Allocation(cores=1), {}).seats) == 1


def test_runs_without_a_gpu_run_beside_the_others() -> None:
    seats = allocated_offer(None, False, {None, 0}, Allocation(cores=1), {"CUDA_VISIBLE_DEVICES": "0,1"}).seats
    assert [(seat.devices, seat.side) for seat in seats] == [(("0",), False), (("1",), False), (("cpu0",), True)]


def test_no_more_cores_are_counted_than_there_are() -> None:
    assert given_cores(Allocation(cores=100000)) == cores()
    assert given_cores(Allocation(cores=1)) == 1


@pytest.mark.parametrize("by_memory", [False, True])
@pytest.mark.parametrize("visible", ["", "0,1"], ids=["CPU slots", "GPUs"])
def test_a_pilot_waits_for_nobody_on_the_gpus_that_were_given_to_it(visible: str, by_memory: bool) -> None:
    assert allocated_offer(
        None, by_memory, (None,), Allocation(), {"CUDA_VISIBLE_DEVICES": visible}
    ).machine.policy.share
