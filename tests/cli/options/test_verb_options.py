"""What was typed becomes values once; what was not is as the settings say."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.api.machine.settings import Settings
from duckrow.cli.commands import run, submit, sweep
from duckrow.cli.options.gpu_options import gpu_count
from duckrow.cli.options.slurm_options import take_slurm_options
from duckrow.cli.options.typed_job_options import take_job_values
from duckrow.cli.options.verb_options import (
    RunOptions,
    SweepOptions,
    take_run_options,
    take_sweep_options,
)
from duckrow.cli.submitting import SubmitOptions


def rest_of(command: Any, *words: str, without: tuple[str, ...] = ()) -> tuple[dict[str, Any], int | None]:
    """A verb's arguments without those that all jobs and clusters have; and the number of GPUs."""
    values = dict(command.make_context("verb", list(words), help_option_names=["-h", "--help"]).params)
    for name in without:
        del values[name]
    gpus = gpu_count(values)
    take_job_values(values)
    take_slurm_options(values)
    return values, gpus


def run_options(*words: str) -> RunOptions:
    values, gpus = rest_of(run.command, *words, without=("file",))
    return take_run_options(values, gpus)


def sweep_options(*words: str) -> SweepOptions:
    values, gpus = rest_of(sweep.command, *words, without=("pattern",))
    return take_sweep_options(values, gpus, pattern=None, command_words=None, grids=[])


def test_every_option_of_run_is_taken() -> None:
    given = run_options("--devices", "0", "1", "--gpus", "2", "--lifo", "--max-failures", "3", "--format", "json")
    assert (given.devices.devices, given.gpu_count, given.lifo, given.form) == (("0", "1"), 2, True, "json")
    assert (given.watch.max_failures, given.watch.follow, given.watch.passthrough) == (3, None, False)


def test_every_option_of_sweep_is_taken() -> None:
    given = sweep_options("--run", "--slots", "2", "--seed", "7", "--no-follow")
    assert (given.here, given.devices.slots, given.seed, given.watch.follow) == (True, 2, 7, False)
    assert given.devices.is_chosen


def test_every_option_of_submit_is_taken() -> None:
    values, gpus = rest_of(submit.command, "--cpu", "--hold", "--after", "12", "--", "true", without=("words", "file"))
    given = SubmitOptions(**values)
    assert (gpus, given.hold, given.after, given.priority) == (0, True, ("12",), None)


def test_what_is_typed_wins_over_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKROW__RUN__SLOTS", "5")
    monkeypatch.setenv("DUCKROW__RUN__JOBS_PER_GPU", "3")
    monkeypatch.setenv("DUCKROW__RUN__MAX_FAILURES", "9")
    typed = run_options("--slots", "2", "--max-failures", "1")
    assert typed.devices.with_settings(Settings()).slots == 2
    assert typed.devices.with_settings(Settings()).jobs_per_gpu == 3
    assert typed.watch.with_settings(Settings()).max_failures == 1
    plain = run_options()
    assert plain.devices.with_settings(Settings()).slots == 5
    assert not plain.devices.is_chosen
    assert plain.watch.with_settings(Settings()).max_failures == 9
