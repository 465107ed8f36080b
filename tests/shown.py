"""What pages show of a terminal: commands with their output. Times, processes and the like are not compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from tests.conftest import DEADLINE_S
from tests.fork_server import Program

CONSOLE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
LEFT_OUT = "..."  # a line of a page that stands for any number of lines

# What differs from one time to the next: how long things took, which of two equal slots was free first, processes, and
# with these how wide a column is.
_VARYING = [
    (re.compile(r"~?\b(\d+[wdhm] )*\d+(\.\d+)?(ms|s|m|h|d)\b|\bany moment\b"), "TIME"),
    (re.compile(r"\b(?:cpu|CPU ?)\d\b"), "SLOT"),
    (re.compile(r"\b(pid|process) \d+"), "PID"),
    (re.compile(r"(\[[#.]+\] +)?\d+%"), "BUSY"),
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
        done = forked if is_plain(command) else typed
        return done(command, self.folder, self.env).stdout

    def retold(self, block: str) -> str:
        """The same commands, with what they print today."""
        return "".join(f"$ {command}\n{self.type(command)}" for command in commands_of(block))


def typed(script: str, folder: Path, env: Mapping[str, str], *shell: str) -> subprocess.CompletedProcess[str]:
    """What a shell does with it, and what a person would see."""
    return subprocess.run(
        [*(shell or ("/bin/sh",)), "-c", script],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=DEADLINE_S,
    )


def is_plain(script: str) -> bool:
    """Whether a shell has nothing to do but to start duckrow."""
    return re.fullmatch(r"duckrow [^|&;<>()$`\\*?~#\"\n\[]*", re.sub(r"'[^'\n]*'", "TEXT", script)) is not None


def forked(script: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What a shell does with plain words, at a quarter of the cost: most that is typed is like that."""
    words = [sys.executable, "-m", *shlex.split(script)]
    with Program(
        words,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        said, _ = process.communicate(timeout=DEADLINE_S)
    return subprocess.CompletedProcess(words, process.returncode, said)


def differences(shown: str, told: str) -> Iterator[str]:
    """The lines of a block that are no longer so."""
    before, now = shown.splitlines(), told.splitlines()
    for was, is_now in zip_longest(before, _without_what_is_left_out(before, now), fillvalue="(nothing)"):
        if comparable(was) != comparable(is_now):
            yield f"shown: {was}\n  now: {is_now}"


def _without_what_is_left_out(before: list[str], now: list[str]) -> list[str]:
    """The lines of now, with `...` for those that the page leaves out."""
    kept: list[str] = []
    rest = now
    for at, line in enumerate(before):
        if line.strip() == LEFT_OUT:
            following = comparable(before[at + 1]) if at + 1 < len(before) else None
            found = [number for number, other in enumerate(rest) if comparable(other) == following]
            rest = rest[found[0] :] if found else []
            kept.append(line)
        elif rest:
            kept.append(rest[0])
            rest = rest[1:]
    return kept + rest
