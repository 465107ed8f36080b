"""An unknown key of `hydra.launcher`: the message names the one that was meant. Other launchers stay silent."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import DEADLINE_S
from tests.hydra.conftest import Application

pytest.importorskip("hydra", reason="the extra `hydra` is not installed")

from duckrow.hydra.unknown_keys import hints_for


def test_hydras_refusal_of_a_key_comes_with_the_one_that_was_meant(app: Application) -> None:
    app.write("note(cfg.x)")
    refused = app("hydra.launcher.partitoin=dev", launcher="duckrow_slurm", ok=False).stderr
    first, second = refused.splitlines()[:2]
    assert first == "duckrow: duckrow_slurm has no key 'partitoin'. Did you mean hydra.launcher.partition?"
    assert second == "Could not override 'hydra.launcher.partitoin'."


def test_a_key_that_hydra_lets_pass_is_refused_by_the_launcher(app: Application) -> None:
    app.write("note(cfg.x)")
    refused = app("+hydra.launcher.time_out=4", ok=False).stderr
    assert "duckrow_local has no key 'time_out'. Did you mean hydra.launcher.timeout? Nothing was submitted." in refused
    assert "Traceback" not in refused
    assert app.said() == []


@pytest.mark.parametrize(
    "words",
    [
        ["hydra/launcher=duckrow_slurm", "hydra.launcher.partition=dev", "hydra.launcher.env.NAME=x", "x=1,2"],
        ["hydra/launcher=duckrow_slurm", "x.hydra.launcher.nosuch=1", "'hydra.launcher.nosuch=1'"],
        ["hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=4", "hydra.launcher.nosuch=1"],
        ["hydra/launcher=duckrow_slurm", "hydra.launcher.timeout_min=4", "hydra/launcher=submitit_slurm"],
        ["hydra.launcher.nosuch=1"],  # it may be anybody's
        ["--help"],
        [],
    ],
)
def test_nothing_is_said_of_keys_that_there_are_or_of_launchers_of_others(words: list[str]) -> None:
    assert list(hints_for(words)) == []


def test_the_keys_of_older_launchers_are_known_too() -> None:
    words = ["--multirun", "hydra/launcher=clusterduck_slurm", "hydra.launcher.timeout_mins=4"]
    said = "duckrow: clusterduck_slurm has no key 'timeout_mins'. Did you mean hydra.launcher.timeout_min?"
    assert list(hints_for(words)) == [said]
    (said,) = hints_for(["hydra/launcher=duckrow_local", "hydra.launcher.zzzz.x=4"])
    assert "Choose from: cpus, env, gpu_mem, " in said


def test_an_application_with_another_launcher_is_as_it_was(app: Application) -> None:
    app.write("print(cfg.x)")
    words = [sys.executable, "app.py", "x=3"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=app.folder, env=app.duckrow.env, timeout=DEADLINE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
