"""A batch whose runs ask for different things: each has SLURM jobs of its own, which take what they have enough for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.pilots import PilotFolder
from duckrow.clusters.port import ClusterLimits, ClusterRefused
from duckrow.clusters.room_in_jobs import left_over
from duckrow.clusters.slurm import commands
from duckrow.clusters.tending import Tending
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.jobs.job import JobSpec
from duckrow.scheduler.pilots.share import PilotShare
from tests.clusters.conftest import MakeBatch, on_slurm, told

BIG: dict[str, Any] = {"gres": "gpu:h100:1"}


class Sbatch:
    """Takes what it is given, except what contains `refuses`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refuses: str = "nothing") -> None:
        self.scripts: list[str] = []
        self._refuses = refuses
        monkeypatch.setattr(commands, "sbatch", self._sbatch)
        monkeypatch.setattr(commands, "limits", ClusterLimits)

    def _sbatch(self, script: str, array: str, *_: str, environment: object, options: Sequence[str] = ()) -> int:
        text = Path(script).read_text()
        if self._refuses in text:
            raise ClusterRefused(f"sbatch said: no {self._refuses}")
        self.scripts.append(text)
        return len(self.scripts)


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    """Runs 0, 2 and 4 want a GPU of any kind, 1 and 3 an H100."""
    specs = [JobSpec("true", "/", slurm=BIG if number % 2 else None) for number in range(5)]
    request = ClusterRequest(gres="gpu:1", runs_per_job=1, lease=1000.0)
    return create_batch(str(tmp_path / "batch"), specs, range(1, 6), request, {}, "python3")


def looked(batch: Batch, states: dict[str, str]) -> Tending:
    tending = on_slurm(batch)
    tending.look(told(states))
    return tending


def test_a_batch_says_what_each_run_asks_for(batch: Batch) -> None:
    read = Batch(batch.folder)
    assert [read.request_of(run).gres for run in range(5)] == ["gpu:1", "gpu:h100:1", "gpu:1", "gpu:h100:1", "gpu:1"]
    assert (read.of_group(range(5), 1), read.runs[3].spec.slurm) == ([1, 3], BIG)


def test_a_batch_of_one_request_is_what_it_always_was(make_batch: MakeBatch) -> None:
    batch = make_batch(2, ClusterRequest(partition="dev"))
    facts = json.loads(Path(f"{batch.folder}/batch.json").read_text())
    assert facts["request"] == {"partition": "dev"}
    assert "requests" not in facts
    assert "group" not in Path(f"{batch.folder}/runs.jsonl").read_text()
    assert (batch.requests, batch.of_group(range(2), 0)) == ([ClusterRequest(partition="dev")], [0, 1])


def test_each_request_has_an_array_of_its_own(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = Sbatch(monkeypatch)
    tending = looked(batch, {})
    assert tending.submit_missing() == ["1_0", "1_1", "1_2", "2_0", "2_1"]
    assert ["--gres=gpu:1\n" in slurm.scripts[0], "--gres=gpu:h100:1\n" in slurm.scripts[1]] == [True, True]
    assert slurm.scripts[1].endswith('"${1:-0}" 1\n')
    assert [tending.group_of(job) for job in ("1_2", "2_0")] == [0, 1]
    again = looked(batch, {"1_0": "PENDING", "1_1": "RUNNING", "1_2": "RUNNING", "2_0": "FAILED", "2_1": "PENDING"})
    PilotFolder(batch, "2_0").end("nothing left to take")  # it lived, and another takes its place
    again.look(told({"1_0": "PENDING", "1_1": "RUNNING", "1_2": "RUNNING", "2_0": "FAILED", "2_1": "PENDING"}))
    assert again.submit_missing() == ["3_0"]
    assert "--gres=gpu:h100:1\n" in slurm.scripts[2]


def test_what_slurm_refuses_for_some_does_not_keep_the_others_waiting(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = Sbatch(monkeypatch, refuses="--gres=gpu:1\n")
    with pytest.raises(ClusterRefused) as error:
        looked(batch, {}).submit_missing()
    assert error.value.request == batch.requests[0]
    assert len(slurm.scripts) == 1


def test_a_pilot_takes_its_own_first_and_then_what_it_has_enough_for(batch: Batch) -> None:
    share = PilotShare(batch, 1)
    taker = Taker(Claims(batch), PilotFolder(batch, "2_0").card, None, share.may_take, share.is_ours)
    assert [taker.next() for _ in range(3)] == [(1, 1), (3, 1), (0, 1)]
    plain = PilotShare(batch, 0)
    other = Taker(Claims(batch), PilotFolder(batch, "1_0").card, None, plain.may_take, plain.is_ours)
    assert [other.next() for _ in range(3)] == [(2, 1), (4, 1), None]


def test_the_last_pilot_sees_to_what_it_can_take_and_leaves_the_rest(batch: Batch) -> None:
    for job, group in (("1_0", 0), ("2_0", 1)):
        PilotFolder(batch, job).renew({"running": {}, "taken": 1, "group": group})
    tending = looked(batch, {"1_0": "RUNNING"})
    assert left_over(tending, "1_0") == [0, 2, 4]  # no H100 here
    tending = looked(batch, {"2_0": "RUNNING"})
    assert left_over(tending, "2_0") == [0, 2, 4, 1, 3]


def test_those_who_cancel_all_of_one_request_mean_that_one(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    Sbatch(monkeypatch)
    first = looked(batch, {}).submit_missing()
    for job in first:
        PilotFolder(batch, job)
    live = dict.fromkeys(first, "RUNNING")
    tending = looked(batch, {**live, "2_0": "CANCELLED", "2_1": "CANCELLED"})
    assert not tending.stands_still()  # the others still run
    assert [still for _, _, still in tending.groups()] == ["", "somebody cancelled its SLURM jobs"]
    assert tending.submit_missing() == []
    claims = Claims(batch)
    claims.look()
    for run in (0, 2, 4):
        claims.finish(run, 1, {"outcome": "succeeded"})
    tending = looked(batch, {**dict.fromkeys(first, "COMPLETED"), "2_0": "CANCELLED", "2_1": "CANCELLED"})
    assert "cancelled" in tending.stands_still()
    tending.go_on()
    assert len(tending.submit_missing()) == 2


def test_a_run_of_a_shorter_request_is_given_the_time_that_it_asked_for(tmp_path: Path) -> None:
    specs = [JobSpec("true", "/"), JobSpec("true", "/", slurm={"time": "1h"})]
    batch = create_batch(str(tmp_path / "batch"), specs, range(1, 3), ClusterRequest(time=7200.0), {}, "python3")
    long, short = PilotShare(batch, 0), PilotShare(batch, 1)
    assert [long.may_take(1), long.time_of(0), long.time_of(1)] == [True, None, 3600.0]
    assert [short.may_take(0), short.time_of(1)] == [False, None]
