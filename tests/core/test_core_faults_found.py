"""Faults of src, each as the test that should pass once it is mended (run from /work/main)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from duckrow.cli.commands import submit
from duckrow.cli.job_options import parse_notice
from duckrow.cli.log_tail import last_lines
from duckrow.cli.main import run_cli
from duckrow.core.decide import choose_starts
from duckrow.core.errors import UsageError
from duckrow.core.job import JobSpec
from duckrow.core.lifecycle import Outcome
from duckrow.core.placement import refusal
from duckrow.core.retry import after_end
from duckrow.core.units import parse_size_bytes
from duckrow.devices.discover import seats_of

from tests.core.language import WAITS, cpus, expect, gpus, groups, job


def test_many_retries_do_not_overflow_the_backoff() -> None:
    assert after_end(job(retries=2000, retries_used=1100, backoff_s=0.0), Outcome.FAILED, 1, 60.0, 0.0, False).again


@pytest.mark.parametrize("text", ["0@30s", "999@30s", "-3", "²@1"])
def test_a_number_that_is_no_signal_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_notice(text)


@pytest.mark.parametrize("command", ["python 1.py", "./2024-01-01.sh", "python last.py"])
def test_a_script_may_have_any_name(command: str) -> None:
    assert JobSpec(command, "/").name


def test_jobs_are_spread_over_the_gpus_before_they_share_one() -> None:
    expect(job(), job(), job()).on(gpus(2, jobs_per_gpu=2)).to_get("0", "1", "0")


def test_a_seat_takes_one_job_at_a_time() -> None:
    expect(job(), job(), job()).on(groups("1", "0+1")).to_get("1", "0,1", WAITS)


def test_a_pair_is_found_behind_a_single_gpu() -> None:
    assert refusal(2, groups("0", "1+2")) is None
    expect(job(gpus=2)).on(groups("0", "1+2")).to_get("1,2")


def test_a_job_that_can_never_start_here_blocks_nobody() -> None:
    assert [start.job.id for start in choose_starts([job(4, id=1), job(1, id=2)], gpus(2), {})] == [2]
    assert [start.job.id for start in choose_starts([job(1, id=1), job(id=2)], cpus(1), {})] == [2]


def test_cpu_slots_of_two_options_are_not_the_same() -> None:
    devices = [seat.devices for seat in seats_of(["", "0"], 2, 1, with_cpu_slots=False)]
    assert len(set(devices)) == len(devices)


def test_a_huge_size_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_size_bytes("9" * 400)


def test_the_last_lines_are_as_many_as_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(20_000)))
    assert last_lines(str(log), 15_000)[0] == "line 5000"


@pytest.mark.parametrize("line", ['#DUCKROW --name "x', "#DUCKROW --gpus 2 # why", "#DUCKROWING is nice"])
def test_a_strange_duckrow_line_is_told_or_left_out(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[str] = []

    class Counter:
        def submit(self, specs: list[JobSpec], _: object) -> range:
            taken.extend(spec.command for spec in specs)
            return range(1, 2)

    monkeypatch.setattr(submit, "Client", Counter)
    monkeypatch.chdir(tmp_path)
    Path("a.sh").write_text(f"#!/bin/sh\n{line}\ntrue\n")
    assert run_cli(["submit", "a.sh"]) == 2 or taken == ["/bin/sh a.sh"]
    assert os.getcwd() == str(tmp_path)
