"""What pages show of a terminal: commands with their output. Times are not compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conftest import DEADLINE_S

CONSOLE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)

# What differs from one time to the next: how long things took, which of two equal slots was free first, processes, and
# with these how wide a column is.
_VARYING = [
    (re.compile(r"~?\b(\d+m )?\d+(\.\d+)?(ms|s)\b"), "TIME"),
    (re.compile(r"\b(?:cpu|CPU ?)\d\b"), "SLOT"),
    (re.compile(r"\bpid \d+"), "PID"),
    (re.compile(r"\d+%"), "BUSY"),
    (re.compile(r"\s+"), " "),
]


def comparable(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.strip()


def commands_of(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


class Terminal:
    """Types commands one after the other, and keeps what a person would see."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.env = {**env, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"}

    def type(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE_S,
        )
        return done.stdout.decode()

    def retold(self, block: str) -> str:
        """The same commands, with what they print today."""
        return "".join(f"$ {command}\n{self.type(command)}" for command in commands_of(block))


def differences(shown: str, told: str) -> Iterator[str]:
    """The lines of a block that are no longer so."""
    before, now = shown.splitlines(), told.splitlines()
    for number in range(max(len(before), len(now))):
        was, is_now = (lines[number] if number < len(lines) else "(nothing)" for lines in (before, now))
        if comparable(was) != comparable(is_now):
            yield f"shown: {was}\n  now: {is_now}"
