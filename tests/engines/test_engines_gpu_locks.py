"""Locks on GPUs, which keep two duckrows from the same free memory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from duckrow.engines.local import gpu_locks
from duckrow.engines.local.gpu_locks import GpuLocks


def test_what_one_has_another_cannot_take(tmp_path: Path) -> None:
    ours, theirs = GpuLocks("a", str(tmp_path / "locks")), GpuLocks("b", str(tmp_path / "locks"))
    assert ours.take(["GPU-1", "GPU-2"]) == set()
    assert theirs.take(["GPU-1", "GPU-3"]) == {"GPU-1"}
    ours.release(["GPU-1"])
    assert theirs.take(["GPU-1"]) == set()
    assert (tmp_path / "locks").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "locks" / "GPU-1").stat().st_mode & 0o777 == 0o666


def test_who_comes_next_hears_when_memory_was_promised(tmp_path: Path) -> None:
    ours, theirs = GpuLocks("a", str(tmp_path)), GpuLocks("b", str(tmp_path))
    ours.take(["0", "1"])
    before = time.monotonic()
    ours.promise(["0"])
    ours.release(["0", "1"])
    assert theirs.take(["0", "1"]) == set()
    assert list(theirs.changed_mono) == ["0"]
    assert before <= theirs.changed_mono["0"] <= time.monotonic()
    theirs.release(["0", "1"])
    assert ours.take(["0"]) == set()
    assert ours.changed_mono == {}, "they have promised nothing"


def test_the_promise_of_a_dead_one_holds_for_a_while_but_not_for_its_heir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = GpuLocks("a", str(tmp_path))
    dead.take(["0"])
    dead.promise(["0"])
    os.close(dead._held.pop("0"))  # as the kernel does
    assert GpuLocks("b", str(tmp_path)).take(["0"]) == {"0"}
    heir = GpuLocks("a", str(tmp_path))
    assert heir.take(["0"]) == set()
    os.close(heir._held.pop("0"))
    monkeypatch.setattr(gpu_locks, "_DEAD_PROMISE_S", 0.0)
    assert GpuLocks("b", str(tmp_path)).take(["0"]) == set()


def left_by(who: str, folder: Path, monkeypatch: pytest.MonkeyPatch, at: float) -> None:
    """One that died having promised memory when the wall clock showed this."""
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: at)
        dead = GpuLocks(who, str(folder))
        dead.take(["0"])
        dead.promise(["0"])
        os.close(dead._held.pop("0"))


@pytest.mark.parametrize("step_s", [-7200.0, 7200.0])
def test_a_clock_that_is_set_changes_nothing_of_a_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    left_by("a", tmp_path, monkeypatch, at=time.time() - step_s)
    before = time.monotonic()
    assert GpuLocks("b", str(tmp_path)).take(["0"]) == {"0"}
    monkeypatch.setattr(gpu_locks, "_DEAD_PROMISE_S", 0.0)
    theirs = GpuLocks("b", str(tmp_path))
    assert theirs.take(["0"]) == set()
    assert before - 60 < theirs.changed_mono["0"] <= before


def test_a_promise_of_an_earlier_boot_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(gpu_locks, "boot_id", lambda: "earlier")
        left_by("a", tmp_path, monkeypatch, at=time.time())
    theirs = GpuLocks("b", str(tmp_path))
    assert theirs.take(["0"]) == set()
    assert theirs.changed_mono == {}


def test_the_promise_of_an_older_version_is_known_by_its_wall_time(tmp_path: Path) -> None:
    (tmp_path / "0").write_text(f"{time.time() - 30!r} 1 somebody\n")
    assert GpuLocks("a", str(tmp_path)).take(["0"]) == {"0"}
    (tmp_path / "0").write_text(f"{time.time() - 90!r} 1 somebody\n")
    assert GpuLocks("a", str(tmp_path)).take(["0"]) == set()


def test_an_older_version_understands_what_is_written(tmp_path: Path) -> None:
    locks = GpuLocks("a", str(tmp_path))
    locks.take(["0"])
    locks.promise(["0"])
    at, is_open, who = (tmp_path / "0").read_text().split()[:3]
    assert (is_open, who) == ("1", "a")
    assert abs(float(at) - time.time()) < 60


def test_without_a_place_for_locks_nobody_is_kept_from_anything(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert GpuLocks("a", str(tmp_path / "file" / "locks")).take(["0"]) == set()


def test_what_others_write_into_the_file_is_no_trouble(tmp_path: Path) -> None:
    for text in (b"", b"\xff\xfe", b"nan", b"x y z", b"1e999 1", b"12345 1 somebody\n"):
        (tmp_path / "0").write_bytes(text)
        locks = GpuLocks("a", str(tmp_path))
        assert locks.take(["0"]) == set()
        assert locks.changed_mono.get("0", 0.0) <= 0.0
        locks.release(["0"])
