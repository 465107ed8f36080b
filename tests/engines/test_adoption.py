"""What became of attempts of a dead host, when the evidence comes late."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from duckrow.core.ports import Ended, Vanished
from duckrow.engines.local import adopting
from duckrow.engines.local.engine import LocalEngine
from duckrow.kernel.process import identity_of, our_pid_space
from tests.conftest import DEADLINE_S
from tests.engines.harness import HARNESSES, Life

JOURNAL = "feedfacecafe"


def ended_process() -> tuple[int, str]:
    """(PID, identity) of a process that is gone."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    identity = identity_of(process.pid)
    process.communicate()
    return process.pid, identity


def adopted(tmp_path: Path, written_after_s: float | None) -> Any:
    """What is said of an attempt that exited with 21, whose journal its keeper writes again so much later."""

    def body(life: Life) -> Any:
        assert isinstance(life.engine, LocalEngine)
        attempt = life.order("runs").attempt
        attempt.keeper = JOURNAL
        attempt.has_process(*ended_process())
        lines = f"H {our_pid_space()}\nS {attempt.id}\nE {attempt.id} {21 << 8} 1.0 1.0\n"
        path = Path(life.engine._folder) / JOURNAL
        if written_after_s is not None:
            Timer(written_after_s, lambda: path.write_text(lines)).start()
        life.engine.adopt([attempt], rebooted=False)
        return life.wait_for(Vanished if written_after_s is None else Ended, attempt)

    harness = HARNESSES["local"](tmp_path)
    try:
        return harness.life(body)
    finally:
        harness.close()


def test_a_journal_that_is_gone_is_waited_for_longer_than_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert adopting._MENDED_WITHIN_S > 2
    monkeypatch.setattr(adopting, "_MENDED_WITHIN_S", DEADLINE_S)  # on busy cores a second may take a while
    assert adopted(tmp_path, written_after_s=1.2).exit_code == 21  # in time: it was given up after a second


def test_a_journal_that_stays_away_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adopting, "_MENDED_WITHIN_S", 0.1)
    assert os.fspath(tmp_path) in adopted(tmp_path, written_after_s=None).reason
