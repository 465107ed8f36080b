"""The daemon looks after batches beside its loop."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from duckrow.scheduler.hosts import cluster_tending
from duckrow.scheduler.hosts.cluster_tending import ClusterTending
from duckrow.store.batches import BatchStore
from duckrow.store.folder.state_folder import Folder
from tests.conftest import until


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A batch is open; a look at it every moment."""
    monkeypatch.setattr(BatchStore, "any_open", lambda _self: True)
    monkeypatch.setattr(cluster_tending, "_EVERY_S", 0.001)
    said: list[str] = []
    return said


def tend(said: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> ClusterTending:
    monkeypatch.setattr(cluster_tending, "_COMMAND", [sys.executable, "-ISc", program])
    tending = ClusterTending(Folder(str(home)).make(), said.append)
    tending.begin()
    return tending


def test_what_goes_wrong_each_time_is_told_once(
    told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = tmp_path / "looks"
    program = f"open({str(looks)!r}, 'a').write('x'); import sys; print('a line'); sys.exit('no cluster answers')"
    tending = tend(told, tmp_path / "home", monkeypatch, program)
    until(lambda: looks.exists() and len(looks.read_text()) > 2, "the third look")
    tending.close()
    assert told == ["Could not look after runs on clusters: no cluster answers"]


def test_whoever_closes_does_not_wait_for_a_slow_cluster(
    told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    program = f"open({str(begun)!r}, 'w'); import time; time.sleep(600)"
    tending = tend(told, tmp_path / "home", monkeypatch, program)
    until(begun.exists, "the look")
    tending.close()
    assert told == []


def test_one_that_takes_too_long_is_ended_and_told(
    told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_tending, "_LONGEST_S", 0.1)
    tending = tend(told, tmp_path / "home", monkeypatch, "import time; time.sleep(600)")
    until(lambda: told, "the sentence")
    tending.close()
    assert told == ["Could not look after runs on clusters: `duckrow batches` took longer than 0 s"]
