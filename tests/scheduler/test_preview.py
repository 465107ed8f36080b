"""A preview is the loop's own answer: it counts whatever a real run would count, and leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import NO_NEEDS, Needs
from duckrow.core.jobs.job import JobSpec
from duckrow.devices.discover import Offer
from duckrow.engines.dry.gpus import DryGpus
from duckrow.scheduler.simulation import preview
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.jobs.jobs import JobStore
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, runs

GPUS_MB = {"0": 24_000, "1": 24_000}
OFFER = Offer(parse_gpus(["0", "1"]), Machine(GPUS_MB))


@pytest.fixture
def queue(make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """The real folder, with its daemon, of the person who asks."""
    queue = make_queue(parse_gpus(["0", "1"]), GPUS_MB)
    monkeypatch.setenv("DUCKROW_HOME", queue.folder.root)
    monkeypatch.setattr(preview, "source", lambda: DryGpus(queue.machine, queue.host().reactor))
    monkeypatch.setattr(preview, "attempts_of", lambda pids, *_: queue.host().engine.owners_of(pids, []))
    return queue


def where(*specs: JobSpec, last_freed_first: bool = False) -> list[str]:
    """The GPUs of each; `waits` if it would not start now."""
    starts = preview.preview(specs, OFFER, last_freed_first).starts
    return ["+".join(starts[number]) if number in starts else "waits" for number in range(len(specs))]


def job(needs: Needs = NO_NEEDS, gpus: int | None = None, priority: int = 0) -> JobSpec:
    return JobSpec("python train.py", "/", gpus=gpus, needs=needs, priority=priority)


def test_jobs_that_have_a_gpu_start_and_the_others_wait(queue: Queue) -> None:
    assert where(job(), job(), job()) == ["0", "1", "waits"]
    assert where(job(gpus=2), job()) == ["0+1", "waits"]
    assert where(job(), job(), job(priority=1)) == ["1", "waits", "0"]
    assert where(job(), job(), last_freed_first=True) == ["1", "0"]


def test_what_others_do_on_a_gpu_counts(queue: Queue) -> None:
    queue.machine.strangers_mb["0"] = {1: 9_000}
    assert where(job()) == ["1"]
    queue.machine.strangers_mb["1"] = {1: 20_000}
    assert where(*[job(Needs(gpu_mem_mb=10_000))] * 2) == ["0", "waits"]


def test_what_the_daemon_has_booked_counts_once(queue: Queue) -> None:
    queue.add(runs(gpu_mb=((0.0, 9_000),)), needs=Needs(gpu_mem_mb=10_000))
    queue.passes(5)
    sharing = [job(Needs(gpu_mem_mb=12_000)) for _ in range(4)]
    assert sorted(where(*sharing)) == ["0", "1", "waits", "waits"]
    assert where(job(), job()) == ["1", "waits"]


def test_known_memory_counts(queue: Queue) -> None:
    packed = [job(Needs(auto=True, recipe="/train.py")) for _ in range(5)]
    assert where(*packed).count("waits") == 0  # tried out together
    with queue.database.transaction():
        PeakStore(queue.database).learn("/train.py", "Dry GPU", 10_000, "{}")
    assert where(*packed) == ["0", "1", "0", "1", "waits"]


def test_nothing_starts_while_the_queue_is_paused(queue: Queue) -> None:
    JobStore(queue.database).pause("")
    assert where(job(), job()) == ["waits", "waits"]


def test_if_none_starts_it_says_why(queue: Queue) -> None:
    wants = job(Needs(gpu_mem_mb=10_000))
    assert preview.preview([wants], OFFER).waits_for == []
    for gpu in ("0", "1"):
        queue.machine.strangers_mb[gpu] = {1: 20_000}
    needs, gpu_0, _ = preview.preview([wants], OFFER).waits_for
    assert (needs, gpu_0) == ("it needs 9.8G on a GPU", "GPU 0 has 3.7G free, others use 19.5G of it")
    JobStore(queue.database).pause("")
    assert preview.preview([wants], OFFER).waits_for == ["everything is paused"]


def test_a_full_project_waits(queue: Queue) -> None:
    queue.limit("project:thesis", 1)
    thesis = JobSpec("python train.py", "/", project="thesis")
    assert where(thesis, thesis, job()) == ["0", "waits", "1"]


def test_nothing_is_left_behind(queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where(job())
    assert queue.database.one("SELECT count(*) FROM jobs") == 0
    monkeypatch.setenv("DUCKROW_HOME", str(tmp_path / "new"))
    assert where(job()) == ["0"]
    assert not (tmp_path / "new").exists()
