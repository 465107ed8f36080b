"""What the kernel's count of kills says of one attempt, where no cgroup counts for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.ports import Ended
from duckrow.engines.local import kernel_kills
from tests.engines.harness import Life, LocalHarness


class Kernel:
    """Its counter, as /proc/vmstat shows it."""

    kills: int | None = 0


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setattr(kernel_kills, "_counted", lambda: kernel.kills)
    monkeypatch.setattr(kernel_kills, "_FRESH_S", 0.0)
    return kernel


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[LocalHarness]:
    harness = LocalHarness(tmp_path)
    yield harness
    harness.close()


def test_a_kill_before_an_attempt_began_says_nothing_about_it(harness: LocalHarness, kernel: Kernel) -> None:
    def body(life: Life) -> None:
        kernel.kills = 1
        attempt = life.start("dies of SIGSEGV")
        life.wait_for(Ended, attempt)
        assert life.engine.ran_out_of_memory(attempt) is False

    harness.life(body)


def test_attempts_that_the_kernel_killed_together_are_both_known(harness: LocalHarness, kernel: Kernel) -> None:
    def body(life: Life) -> None:
        attempts = [life.begin("runs"), life.begin("runs")]
        kernel.kills = 1
        later = life.start("exits with 3")
        assert [life.engine.ran_out_of_memory(each) for each in (*attempts, later)] == [True, True, False]

    harness.life(body)


def test_an_attempt_of_an_earlier_host_counts_from_its_adoption(harness: LocalHarness, kernel: Kernel) -> None:
    attempt = harness.life(lambda life: life.begin("runs"))
    attempt.note_kernel_kills(None)  # the database does not keep it
    kernel.kills = 1

    def body(life: Life) -> None:
        life.engine.adopt([attempt], rebooted=False)
        assert life.engine.ran_out_of_memory(attempt) is False
        kernel.kills = 2
        assert life.engine.ran_out_of_memory(attempt) is True

    harness.life(body)


def test_a_kernel_that_does_not_count_says_nothing(harness: LocalHarness, kernel: Kernel) -> None:
    def body(life: Life) -> None:
        kernel.kills = None
        assert life.engine.ran_out_of_memory(life.begin("runs")) is None

    harness.life(body)


def test_attempts_that_begin_together_share_one_count(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> None:
    monkeypatch.setattr(kernel_kills, "_FRESH_S", 1e9)
    kills = kernel_kills.KernelKills()
    assert kills.count() == 0
    kernel.kills = 1
    assert kills.count() == 0
    assert kills.since(kills.count()) is True
