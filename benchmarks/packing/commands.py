"""The runs of a workload as commands: trainings on a real GPU, or jobs that pretend on a fake one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.packing.shapes import Shape

HERE = Path(__file__).parent
_SMALL = (256, 64)  # width and batch of a training that leaves most of a large GPU idle
_LARGE = (6144, 4096)  # and of one that fills it
_FILLS = 0.8

Command = Callable[[Shape, int], str]
"""Of a run, by its shape and its number."""


class Trainings(NamedTuple):
    """On a real GPU."""

    python: str
    folder: Path  # where the scripts are copied to: what duckrow learns is about these
    steps_in_a_second: dict[tuple[int, int], float]  # by width and batch, as measured alone

    @classmethod
    def measured(cls, python: str, folder: Path) -> Trainings:
        """How fast this GPU is."""
        return cls(python, folder, {size: _measure(python, size) for size in (_SMALL, _LARGE)})

    def command(self, shape: Shape, number: int) -> str:
        width, batch = _LARGE if shape.gpu >= _FILLS else _SMALL
        steps = max(int(shape.train_s * self.steps_in_a_second[width, batch]), 10)
        stairs = ",".join(map(str, shape.stairs_mb))
        words = f"--size {shape.size} --steps {steps} --width {width} --batch {batch} --stairs-mb {stairs}"
        return f"{self.python} {self._script(shape)} {words} --seed {number}"

    def _script(self, shape: Shape) -> Path:
        script = self.folder / f"train_{shape.script}.py"  # not jax.py, which would be what it imports
        if not script.exists():
            uses_jax = shape.script == "jax" and importlib.util.find_spec("jax") is not None
            shutil.copy(HERE / ("train_jax.py" if uses_jax else "train.py"), script)
        return script


def _measure(python: str, size: tuple[int, int]) -> float:
    width, batch = size
    steps = 2000 if size == _SMALL else 50
    words = ["--steps", str(steps), "--width", str(width), "--batch", str(batch), "--stairs-mb", "0", "--measure"]
    return float(subprocess.check_output([python, str(HERE / "train.py"), *words], text=True))


def pretending(job: Callable[..., str]) -> Command:
    """`job`: makes a command of the fake GPUs of the tests. It takes time and memory, and no GPU is needed."""

    def command(shape: Shape, number: int) -> str:
        stair_s = shape.train_s / len(shape.stairs_mb)
        ramp = [f"{shape.import_s + stair_s * at:.2f}:{mb}" for at, mb in enumerate(shape.stairs_mb)]
        words = job("--ramp", *ramp, "--hold", stair_s, "--util", round(100 * shape.gpu))
        return f"SCRIPT={shape.script} SIZE={shape.size} SEED={number} {words}"

    return command


def lines_of(command: Command, shapes: Sequence[Shape]) -> str:
    return "".join(f"{command(shape, number)}\n" for number, shape in enumerate(shapes))


def default_python() -> str:
    return sys.executable
