"""How busy the cores were, from what the kernel counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.core.ports import CoreTime
from duckrow.kernel.core_time import core_time

TICKS = os.sysconf("SC_CLK_TCK")
STAT = """cpu  900 0 0 900 0 0 0 0 0 0
cpu0 {busy} 0 {busy} {idle} {idle} 0 0 0 7 7
cpu1 500 0 0 0 0 0 0 0 0 0
cpu10 1 1 1 1 1 1 1 1 1 1
intr 1 2 3
cpu3 a line that is not one of those
"""


def written(folder: Path, busy: int, idle: int) -> str:
    path = folder / "stat"
    path.write_text(STAT.format(busy=busy * TICKS, idle=idle * TICKS))
    return str(path)


def test_only_the_cores_that_we_may_use_count(tmp_path: Path) -> None:
    assert core_time({0}, written(tmp_path, 3, 5)) == (6.0, 16.0)


def test_between_two_moments_it_is_a_share(tmp_path: Path) -> None:
    before, after = (core_time({0}, written(tmp_path, *ticks)) for ticks in ((3, 5), (6, 6)))
    assert before is not None
    assert after is not None
    assert CoreTime(*after).busy_since(CoreTime(*before)) == pytest.approx(75.0)
    assert CoreTime(*after).busy_since(CoreTime(*after)) is None


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    assert core_time({0}, str(tmp_path / "missing")) is None
    assert core_time({99}, written(tmp_path, 1, 1)) is None


def test_this_machine_tells() -> None:
    found = core_time(os.sched_getaffinity(0))
    assert found is not None
    assert 0 < found[0] <= found[1]
