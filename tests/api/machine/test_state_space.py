"""What doctor says of the disk."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from duckrow.api.machine.state_space import space_findings

GIB = 1 << 30


def found(
    monkeypatch: pytest.MonkeyPatch, root: Path, free: float, size: float = 100 * GIB, files: int = 10**6
) -> dict[str, str]:
    room = SimpleNamespace(f_bavail=int(free), f_blocks=int(size), f_frsize=1, f_files=10**7, f_favail=files)
    monkeypatch.setattr(os, "statvfs", lambda path: room)
    return {finding.check: finding.level for finding in space_findings(str(root))}


@pytest.mark.parametrize(
    ("free", "size", "level"),
    [
        (50 * GIB, 100 * GIB, "ok"),
        (1.9 * GIB, 100 * GIB, "warn"),
        (2.1 * GIB, 100 * GIB, "ok"),
        (0.9 * GIB, 5 * GIB, "warn"),
        (19 * GIB, 8000 * GIB, "warn"),
        (1 << 20, 100 * GIB, "problem"),
    ],
)
def test_a_disk_that_will_soon_be_full_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: float, size: float, level: str
) -> None:
    assert found(monkeypatch, tmp_path, free, size)["free space"] == level


def test_a_file_system_that_will_soon_hold_no_more_files_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "free files" not in found(monkeypatch, tmp_path, 50 * GIB)
    assert found(monkeypatch, tmp_path, 50 * GIB, files=9000)["free files"] == "warn"
    assert found(monkeypatch, tmp_path, 50 * GIB, files=3)["free files"] == "problem"


def test_a_state_that_has_taken_more_than_is_left_is_warned_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert found(monkeypatch, tmp_path, 3 * GIB)["size"] == "ok"
    monkeypatch.setattr("duckrow.api.machine.state_space._size", lambda path: 2 * GIB)
    assert found(monkeypatch, tmp_path, 3 * GIB)["size"] == "warn"
