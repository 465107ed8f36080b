"""A clock that a test can set, for real processes: a library that is preloaded into them shifts what they read.

The fixture `clock` is in `plugin.py`; what the library does is told in `clock.c`.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "clock.c"


class NoCompiler(Exception):
    def __init__(self) -> None:
        super().__init__("the clock that tests can set needs a C compiler (cc, gcc or clang): apt install gcc")


def build(target: Path) -> None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompiler
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(target), str(SOURCE)], check=True
    )


class FakeClock:
    """The clocks of the processes that have `env()`; a change is seen at once, also by those that run."""

    def __init__(self, library: Path, file: Path) -> None:
        self._library = library
        self._file = file
        self._wall_s = self._boot_s = self._mono_s = 0.0
        self._write()

    def env(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "FAKE_CLOCK_FILE": str(self._file)}

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall_s += seconds
        self._write()

    def suspend(self, seconds: float) -> None:
        """The machine has slept: the wall clock and the time since boot went on, the monotonic clock did not."""
        self._wall_s += seconds
        self._boot_s += seconds
        self._write()

    def go_on(self, seconds: float) -> None:
        """Time passes, on all clocks."""
        self._mono_s += seconds
        self.suspend(seconds)

    def _write(self) -> None:
        with open(self._file, "r+b" if self._file.exists() else "wb") as file:  # in place: it is mapped
            file.write(struct.pack("ddd", self._wall_s, self._boot_s, self._mono_s))
