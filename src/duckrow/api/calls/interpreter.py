"""Starts the same Python interpreter again."""

from __future__ import annotations

import os
import sys

# Files of the folder in which somebody works must not pass for the modules that we import.
_SAFE_PATH = ["-P"] if sys.version_info >= (3, 11) else []


def module_command(module: str, *words: str) -> list[str]:
    """The command that runs this module like `python -m`."""
    return [sys.executable, *_SAFE_PATH, "-m", module, *words]


def become(command: list[str]) -> int:
    """Replace this process by this command. A closed stream is opened first: the next file would take its place."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    return os.execv(command[0], command)
