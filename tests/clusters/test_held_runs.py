"""Runs that are set aside, or come first: decided in the folder, against pilots that take them at the same moment."""

from __future__ import annotations

import threading
from pathlib import Path

from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.held_runs import HeldRuns
from duckrow.clusters.lapsing import lapse
from duckrow.clusters.pilots import PilotFolder
from duckrow.clusters.priorities import Priorities
from tests.clusters.conftest import MakeBatch, on_slurm


def looked(batch: Batch) -> Claims:
    claims = Claims(batch)
    claims.look()
    return claims


def taker_of(batch: Batch, job: str = "1_0") -> Taker:
    return Taker(Claims(batch), PilotFolder(batch, job).card)


def test_a_run_that_is_held_is_not_taken_before_it_is_released(make_batch: MakeBatch) -> None:
    batch, taker = make_batch(2), None
    assert HeldRuns(looked(batch)).hold([0]) == [0]
    taker = taker_of(batch)
    assert [taker.next(), taker.next()] == [(1, 1), None]
    assert HeldRuns(looked(batch)).release([0, 1]) == [0]
    assert taker.next() == (0, 2)


def test_a_run_that_a_pilot_has_cannot_be_held_and_its_claim_is_not_released(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    before = looked(batch)  # it was free when we looked
    assert taker_of(batch).next() == (0, 1)
    holds = HeldRuns(before)
    assert holds.hold([0]) == []
    assert HeldRuns(looked(batch)).release([0]) == []
    assert looked(batch).claimed() == {0: 1}


def test_a_mark_that_was_left_by_somebody_who_died_releases_nobody_elses_claim(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    assert taker_of(batch).next() == (0, 1)
    folder = Path(batch.folder) / "holds"
    folder.mkdir()
    (folder / "0.1").touch()
    assert HeldRuns(looked(batch)).release([0]) == []
    assert HeldRuns(looked(batch)).hold([0]) == []


def test_of_a_hold_and_a_pilot_that_race_for_runs_each_gets_what_the_other_does_not(make_batch: MakeBatch) -> None:
    batch = make_batch(60)
    claims, taker = looked(batch), taker_of(batch)
    taken: list[tuple[int, int]] = []

    def take_all() -> None:
        while (found := taker.next()) is not None:
            taken.append(found)

    pilot = threading.Thread(target=take_all)
    pilot.start()
    held = HeldRuns(claims).hold(range(59, -1, -1))
    pilot.join()
    assert sorted([*held, *(run for run, _ in taken)]) == list(range(60))


def test_a_hold_never_lapses_and_gives_no_retries_back(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    run, claim = taker_of(batch).next() or (0, 0)
    looked(batch).release(run, claim, "the time limit came", {"retries_used": 2})
    HeldRuns(looked(batch)).hold([0])
    tending = on_slurm(batch)
    tending.look({})
    assert lapse(tending) == []
    HeldRuns(looked(batch)).release([0])
    assert [release["retries_used"] for release in looked(batch).history(0)] == [2, 2]


def test_a_priority_that_was_given_later_counts_for_pilots_that_have_looked_before(make_batch: MakeBatch) -> None:
    batch = make_batch(4)
    taker = taker_of(batch)
    assert taker.next() == (0, 1)
    Priorities(batch).give([2, 3], 50)
    Priorities(batch).give([3], 60)
    assert [taker.next() for _ in range(3)] == [(3, 1), (2, 1), (1, 1)]
