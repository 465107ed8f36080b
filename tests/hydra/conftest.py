"""Hydra applications, run as people run them, with a duckrow of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.fork_server import HydraScript, run_to_end

pytest.importorskip("hydra", reason="the extra `hydra` is not installed")

SCRIPT = """
import os, signal, sys, time
import hydra
import logging

HERE = os.path.dirname(os.path.abspath(__file__))

def note(word, file="ran"):
    with open(os.path.join(HERE, file), "a") as notes:
        notes.write(f"{word}\\n")

def may_go():
    return os.path.exists(os.path.join(HERE, "go"))

def await_go():
    deadline = time.monotonic() + 60
    while not may_go() and time.monotonic() < deadline:
        time.sleep(0.01)

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    {body}

if __name__ == "__main__":
    main()
"""


class Application:
    """A script with a config, and what has come of its multiruns."""

    def __init__(self, duckrow: Duckrow) -> None:
        self.duckrow, self.folder = duckrow, duckrow.work
        (self.folder / "conf" / "model").mkdir(parents=True)
        config = "defaults:\n  - model: convnet\n  - _self_\nx: 1\nflag: ''\n"
        (self.folder / "conf" / "config.yaml").write_text(config)
        for model in ("convnet", "transformer"):
            (self.folder / "conf" / "model" / f"{model}.yaml").write_text(f"name: {model}\n")

    def write(self, body: str) -> None:
        """`body`: what the function does with `cfg`."""
        (self.folder / "app.py").write_text(SCRIPT.replace("{body}", body.strip().replace("\n", "\n    ")))

    def command(self, *words: str, launcher: str = "duckrow_local") -> list[str]:
        place = [] if any(word.startswith("hydra.sweep.dir=") for word in words) else ["hydra.sweep.dir=out"]
        return [sys.executable, "app.py", "--multirun", f"hydra/launcher={launcher}", *place, *words]

    def __call__(
        self, *words: str, launcher: str = "duckrow_local", ok: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The multirun, to its end."""
        command = self.command(*words, launcher=launcher)[1:]
        done = run_to_end(HydraScript, command, self.folder, {**self.duckrow.env, **(env or {})}, DEADLINE_S)
        assert (done.returncode == 0) == ok, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def spawn(
        self, *words: str, launcher: str = "duckrow_local", env: dict[str, str] | None = None, **options: Any
    ) -> HydraScript[str]:
        """The multirun, while it runs."""
        command, variables = self.command(*words, launcher=launcher), {**self.duckrow.env, **(env or {})}
        return HydraScript(command, cwd=self.folder, env=variables, text=True, **options)

    def go(self) -> None:
        """Let the waiting runs continue."""
        (self.folder / "go").touch()

    def said(self, name: str = "ran") -> list[str]:
        """What runs have noted."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def results(self) -> list[dict[str, Any]]:
        """As `duckrow results` tells them."""
        rows: list[dict[str, Any]] = json.loads(self.duckrow("results", "app", "--json").stdout)
        return rows

    def out(self, *parts: str) -> Path:
        return self.folder.joinpath("out", *parts)


@pytest.fixture
def app(duckrow: Duckrow) -> Application:
    return Application(duckrow)


@pytest.fixture(scope="module")
def shared_duckrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duckrow]:
    """One for all tests of a module: Hydra's own tests are many, and say nothing of the queue."""
    place = tmp_path_factory.mktemp("duckrow")
    program = Duckrow(place / "state", place)
    yield program
    program.kill_everything()
