"""A walk through a page: each block is typed as it is written, and what it shows is compared with what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.pages import stand_ins
from tests.pages.machine import Machine
from tests.pages.reading import Block, blocks
from tests.shown import differences

# What runs until Ctrl-C, what it shows when it is at work, and what somebody types elsewhere meanwhile.
UNTIL_CTRL_C = {
    r"^duckrow web$": ("ssh -L 8787:", ""),
    r"^duckrow dropin gpupeasy server": ("scripts use", ""),
    r"^duckrow dropin gpupeasy gui": ("ssh -L 4004:", ""),
    r"^duckrow \w+ --watch": ("(?s)(ID|GPU) .*", ""),
    r"^tail -f -n 0 queue.txt": ("[1-9] succeeded|[1-9] done", "echo 'python train.py' >> queue.txt"),
    r"^tail -f -n 0 gpu.queue": ("Processing command", "echo 'python train.py' >> gpu.queue"),
}
# Typed into real environments by test_installing.py.
INSTALLS = re.compile(r"^(uv|pipx?) (tool |pip )?(install|uninstall)\b")
_ASSIGNMENT = re.compile(r"^(\w+)=(\$\(.*\)|\S+)$")


@dataclass(frozen=True)
class Around:
    """What a page takes for granted."""

    first: str = ""  # typed before the page
    before: dict[str, str] = field(default_factory=dict)  # typed before a command that contains this
    instead: dict[str, str] = field(default_factory=dict)  # what a page cannot know -> a command that prints it
    files: dict[str, str] = field(default_factory=dict)  # files that it names -> their text
    saves: dict[str, str] = field(default_factory=dict)  # blocks of this language, or beginning, are saved as this file
    env: dict[str, str] = field(default_factory=dict)  # WORK stands for the folder where one types
    calls: tuple[str, ...] = ()  # stand-ins that it calls, with their words
    has_own_network: bool = False


def walk(name: str, around: Around, machine: Machine) -> Iterator[tuple[str, str]]:
    """Each block that shows what is printed, and what is printed today."""
    for path, text in around.files.items():
        _save(machine.work / path, text)
    for beginning, path in around.saves.items():
        found = [block for block in blocks(name) if block.language == beginning or block.body.startswith(beginning)]
        _save(machine.work / path, found[0].body)
    machine.env |= {variable: value.replace("WORK", str(machine.work)) for variable, value in around.env.items()}
    machine.type(around.first)
    for block in blocks(name):
        if block.scene or not block.is_typed:
            continue
        if block.language == "console":
            yield block.body, block.retold(machine.retold)
        else:
            _type(block, around, machine)
    missed = set(around.calls) - set(stand_ins.calls(machine.programs))
    assert not missed, missed


def _save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _type(block: Block, around: Around, machine: Machine) -> None:
    for command in block.commands():
        for part, first in around.before.items():
            if part in command:
                machine.type(first)
        for part, asked in around.instead.items():
            if part in command:
                command = command.replace(part, machine.type(asked).strip())
        if not INSTALLS.search(command):
            _type_command(command, block.language, machine)


def _type_command(command: str, language: str, machine: Machine) -> None:
    until = next((shown for pattern, shown in UNTIL_CTRL_C.items() if re.search(pattern, command)), None)
    if until:
        machine.type_until(command, until[0], lambda: machine.type(until[1]) if until[1] else "")
    elif found := _ASSIGNMENT.search(command):
        machine.type(f'{command}\nprintf %s "${found[1]}" > ../value')
        machine.env[found[1]] = (machine.folder / "value").read_text()
    else:
        machine.type(command, "/bin/bash" if language == "bash" else "/bin/sh")


def old_lines(shown: str, told: str) -> list[str]:
    return list(differences(shown, told))
