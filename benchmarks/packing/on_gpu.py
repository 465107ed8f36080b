"""Runs a workload on a GPU: by duckrow, and by hand with xargs and MPS."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.packing.commands import Command, lines_of
from benchmarks.packing.figures import Round
from benchmarks.packing.shapes import Shape

MPS = "nvidia-cuda-mps-control"
_DUCKROW = [sys.executable, "-m", "duckrow"]
_ENDS_WITHIN_S = 20.0
_SHOWN = 1500  # characters of what one that failed has printed


class Failed(Exception):
    """One way of running a workload did not end well, or not in time."""


class Bench:
    def __init__(self, folder: Path, gpu: str, command: Command, env: dict[str, str], longest_s: float) -> None:
        """`longest_s`: whatever takes longer is stopped, and its row is given up."""
        self._folder, self._gpu, self._command = folder, gpu, command
        self._env = {**os.environ, **env}
        self._longest_s = longest_s

    def by_hand(self, shapes: Sequence[Shape], at_a_time: int) -> Round:
        """What an expert types: xargs, MPS, one thread each."""
        lines = lines_of(self._command, shapes)
        with _mps(self._folder) as variables:
            env = {**self._env, **variables, "CUDA_VISIBLE_DEVICES": self._gpu, "OMP_NUM_THREADS": "1"}
            env |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            words = ["xargs", "-P", str(at_a_time), "-d", "\n", "-n", "1", "sh", "-c", 'eval "$0"']
            return Round(self._timed(words, env, lines))

    def by_duckrow(self, shapes: Sequence[Shape], home: str, *words: str) -> Round:
        """`home`: what it has learned; another one knows nothing."""
        commands = self._folder / "commands.txt"
        commands.write_text(lines_of(self._command, shapes))
        claimed = shapes[0].claims_mb
        memory = ["--pack"] if claimed is None else ["--gpu-mem", f"{claimed}M"]
        env = {**self._env, "DUCKROW_HOME": str(self._folder / home)}
        lasted_s = self._timed([*_DUCKROW, "run", "--devices", self._gpu, *memory, *words, str(commands)], env)
        listed = subprocess.check_output([*_DUCKROW, "ls", "--all", "--json"], env=env, text=True, timeout=60)
        attempts = [job["attempts"] for job in json.loads(listed)[-len(shapes) :]]
        return Round(lasted_s, sum(attempts) - len(attempts), max(attempts))

    def by_daemon(self, shapes: Sequence[Shape], home: str, *words: str) -> Round:
        """Given to a daemon that has run two such jobs before, so that what they import is loaded."""
        env = {**self._env, "DUCKROW_HOME": str(self._folder / home)}
        lines = lines_of(self._command, shapes)
        (self._folder / "two.txt").write_text("".join(lines.splitlines(keepends=True)[:2]))
        (self._folder / "commands.txt").write_text(lines)
        subprocess.run([*_DUCKROW, "up", "--devices", self._gpu], env=env, check=True, timeout=60)
        try:
            self._timed(_submitted("two.txt", *words), env)
            return Round(self._timed(_submitted("commands.txt", *words), env))
        finally:
            subprocess.run([*_DUCKROW, "down", "--kill"], env=env, check=False, timeout=60)

    def _timed(self, words: Sequence[str], env: dict[str, str], lines: str = "") -> float:
        printed = self._folder / "printed.txt"
        (self._folder / "lines.txt").write_text(lines)
        began = time.monotonic()
        with (self._folder / "lines.txt").open() as given, printed.open("w") as out:
            process = subprocess.Popen(
                words,
                stdin=given,
                stdout=out,
                stderr=out,
                env=env,
                cwd=self._folder,
                start_new_session=True,
            )
            try:
                code = process.wait(self._longest_s)
            except subprocess.TimeoutExpired:
                raise Failed(f"not done within {self._longest_s:.0f} s: {' '.join(words[:6])}") from None
            finally:
                _end(process)
        lasted_s = time.monotonic() - began
        if code:
            raise Failed(f"{' '.join(words[:6])} ended with {code}:\n{printed.read_text()[-_SHOWN:]}")
        return lasted_s


def _submitted(file: str, *words: str) -> list[str]:
    """Submits what a file says, and waits for it."""
    duckrow = " ".join(_DUCKROW)
    submit = f"{duckrow} submit --pack {' '.join(words)} --file {file}"
    return ["sh", "-c", f"{submit} && {duckrow} wait --all"]


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started, if it still runs: what comes next needs the GPU for itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                continue


@contextmanager
def _mps(folder: Path) -> Iterator[dict[str, str]]:
    """A control daemon of our own; none where there is none."""
    if shutil.which(MPS) is None:
        yield {}
        return
    pipes = folder / "mps"
    pipes.mkdir(exist_ok=True)
    variables = {"CUDA_MPS_PIPE_DIRECTORY": str(pipes), "CUDA_MPS_LOG_DIRECTORY": str(pipes)}
    subprocess.run([MPS, "-d"], env={**os.environ, **variables}, check=True)
    try:
        yield variables
    finally:
        subprocess.run([MPS], input="quit\n", text=True, env={**os.environ, **variables}, check=False, timeout=60)
