"""What a pilot learns of the memory of its runs is told to the others, once; and what they say is believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.peaks import SharedPeak, SharedPeaks
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.jobs.job import JobSpec
from duckrow.scheduler.pilots.memory import PilotMemory
from duckrow.store.devices.peaks import PeakStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, slots

PEAK = SharedPeak("train.py", "NVIDIA H200", 4096, 2)


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return create_batch(str(tmp_path / "batch"), [JobSpec("true", "/")], [1], ClusterRequest(), {}, "python3")


@pytest.fixture
def queue(make_queue: MakeQueue) -> Queue:
    return make_queue(slots(1))


@pytest.fixture
def memory(queue: Queue, batch: Batch) -> PilotMemory:
    return PilotMemory(queue.host().loop, SharedPeaks(batch, "12_0"))


def known(queue: Queue) -> list[tuple[str, str, int]]:
    return [(peak.recipe, peak.model, peak.peak_mb) for peak in PeakStore(queue.host().database).all()]


def test_what_others_have_learned_is_known_here(memory: PilotMemory, queue: Queue, batch: Batch) -> None:
    memory.hear()
    assert known(queue) == []
    SharedPeaks(batch, "12_1").tell([PEAK])
    memory.hear()
    assert known(queue) == [("train.py", "NVIDIA H200", 4096)]


def test_what_was_heard_is_not_told_as_ones_own(memory: PilotMemory, batch: Batch) -> None:
    SharedPeaks(batch, "12_1").tell([PEAK])
    memory.hear()
    memory.tell()
    listener = SharedPeaks(batch, "12_2")
    assert len(listener.news()) == 1
    assert listener.news() == []


def test_what_was_learned_here_is_told_once(
    memory: PilotMemory, queue: Queue, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = queue.host().loop
    with loop.database.transaction():
        PeakStore(loop.database).learn("train.py", "NVIDIA H200", 4096)
    loop.watch.learning.load()
    memory.tell()
    assert [(peak.recipe, peak.peak_mb) for peak in SharedPeaks(batch, "12_1").news()] == [("train.py", 4096)]
    monkeypatch.setattr(SharedPeaks, "tell", lambda *_: pytest.fail("it is told twice"))
    memory.tell()
