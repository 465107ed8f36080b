"""The log of a job says what the job has left running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from duckrow.engines.local.leftovers import say_what_is_left
from duckrow.kernel.process import Process, read_process


def ourselves() -> list[Process]:
    process = read_process(os.getpid())
    assert process is not None
    return [process]


def test_the_log_ends_with_a_sentence_that_names_what_is_left(tmp_path: Path) -> None:
    log = tmp_path / "attempt-1.log"
    log.write_text("epoch 1\n")
    say_what_is_left(str(log), ourselves())
    before, sentence = log.read_text().splitlines()
    assert before == "epoch 1"
    assert sentence.startswith("duckrow: the job has ended, but ")
    assert str(os.getpid()) in sentence


def test_a_log_that_somebody_moved_away_is_not_made_again(tmp_path: Path) -> None:
    say_what_is_left(str(tmp_path / "attempt-1.log"), ourselves())
    assert os.listdir(tmp_path) == []


def test_a_job_without_a_log_and_a_full_disk_are_no_errors(capfd: pytest.CaptureFixture[str]) -> None:
    say_what_is_left("", ourselves())
    say_what_is_left("/dev/full", ourselves())
    assert capfd.readouterr() == ("", "")
