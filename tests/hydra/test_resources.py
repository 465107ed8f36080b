"""What runs divide among them: cores, GPUs, and the moments at which they begin."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from duckrow.hydra.errors import LauncherError
from duckrow.hydra.keys import ClusterduckLocalConf, ClusterduckSlurmConf
from duckrow.hydra.local import seats_of
from duckrow.hydra.resources import Resources, share_of
from duckrow.hydra.wanted import Divided, divided_of
from hydra_plugins.duckrow_launcher.launcher import ClusterduckLocal, ClusterduckSlurm
from tests.conftest import DEADLINE_S

UUID = "GPU-8d3b9a9c-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("gpus", "slots", "seats"),
    [
        (["0", "1", "2", "3"], 2, ["0+1", "2+3"]),
        (["0", "1"], 4, ["0", "0", "1", "1"]),
        (["0", "1", "2"], 2, ["0", "1+2"]),
        (["0", "1"], 3, ["0", "0", "1"]),
        ([UUID], 2, [UUID, UUID]),
    ],
)
def test_gpus_are_divided_among_slots_as_evenly_as_can_be(gpus: list[str], slots: int, seats: list[str]) -> None:
    assert seats_of(gpus, slots) == [f"--devices={seat}" for seat in seats]


@pytest.mark.parametrize("conf", [ClusterduckLocalConf, ClusterduckSlurmConf])
@pytest.mark.parametrize("key", ["nodes", "tasks_per_node"])
def test_a_run_that_wants_several_nodes_or_tasks_is_refused_wherever_it_goes(conf: Any, key: str) -> None:
    values = {**asdict(conf()), key: 2}
    launcher = ClusterduckLocal() if conf is ClusterduckLocalConf else ClusterduckSlurm()
    with pytest.raises(LauncherError, match=f"hydra.launcher.{key}=2: a run is one process on one node"):
        launcher.wanted(values)


def test_without_gpus_there_are_slots_all_the_same() -> None:
    assert seats_of([], 3) == ["--slots=3"]


def test_every_core_belongs_to_one_slot_and_neighbours_stay_together() -> None:
    for cores in range(1, 20):
        for slots in range(1, cores + 1):
            shares = [share_of(list(range(cores)), slot, slots) for slot in range(slots)]
            assert [core for share in shares for core in share] == list(range(cores))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def _cores_taken(resources: Resources) -> list[int]:
    resources.take()
    return sorted(os.sched_getaffinity(0))


def test_runs_at_the_same_time_have_different_slots_and_a_slot_is_free_when_its_run_has_ended(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    resources = Resources(str(tmp_path), 1, [core])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as first:
        assert first.submit(_cores_taken, resources).result(DEADLINE_S) == [core]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as second:
            # Something of an earlier run still holds the slot: better all cores than none.
            assert second.submit(_cores_taken, resources).result(DEADLINE_S) == sorted(os.sched_getaffinity(0))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as third:
        assert third.submit(_cores_taken, resources).result(DEADLINE_S) == [core]


def test_the_first_runs_begin_one_after_the_other_and_the_later_ones_at_once(tmp_path: Path) -> None:
    resources = Resources(str(tmp_path), slots=2, delay_s=0.3)
    said = [resources.take()[0] for _ in range(4)]
    first, second = map(float, (tmp_path / "beginnings").read_text().split())
    assert second - first >= 0.299
    assert said[0] == "waited 0.0 s for its turn"
    assert [note.startswith("no delay") for note in said] == [False, False, True, True]


@pytest.mark.parametrize(
    ("config", "divided"),
    [
        ({}, Divided()),
        (None, Divided()),
        ({"cpu": None, "cuda": None}, Divided(cores=[], gpus=[])),
        (
            {"cpu": {"cpus": [0, 1]}, "cuda": {"gpus": [0, "1"]}, "stagger": {"delay": 5}},
            Divided([0, 1], ["0", "1"], 5.0),
        ),
    ],
)
def test_resources_config_says_what_is_divided(config: dict[str, object] | None, divided: Divided) -> None:
    assert divided_of(config) == divided


@pytest.mark.parametrize(
    "config",
    [
        {"gpu": None},
        {"cuda": {"gpu": [0]}},
        {"cuda": [0, 1]},
        {"cuda": {"gpus": "0,1"}},
        {"stagger": {"delay": "soon"}},
        {"stagger": {"delay": -1}},
    ],
)
def test_a_mistake_in_resources_config_is_told(config: dict[str, object]) -> None:
    with pytest.raises(LauncherError, match="resources_config"):
        divided_of(config)
