"""`ls` in terminals of all sizes: no line wraps, nothing scrolls off, and what is not shown is counted."""

from __future__ import annotations

import os
import pty
import re
import subprocess

import pytest

from duckrow.cli.console import display_width
from tests.conftest import Duckrow, read_to_end

COMMANDS = [
    "python train.py --text " + "日本語" * 30,
    "echo cafe\u0301 " + "x" * 300,
    *[f"python train.py --seed {seed}" for seed in range(48)],
]
NAME = "a-name-of-middling-length"


def in_a_terminal(duckrow: Duckrow, columns: int, rows: int, *words: str) -> list[str]:
    """The lines that it gets; its size is told as terminals do, by no variable."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", str(rows)], stdin=theirs, check=True)
    with duckrow.spawn(*words, stdout=theirs, stderr=theirs, env={"COLUMNS": "", "LINES": ""}) as process:
        os.close(theirs)
        got = read_to_end(ours)
        process.wait()
    return got.decode().replace("\r\n", "\n").splitlines()


@pytest.fixture
def long_queue(duckrow: Duckrow) -> Duckrow:
    duckrow.up("--slots", "1")
    duckrow("pause")
    duckrow("submit", "--file", "-", "--hold", stdin="\n".join(COMMANDS))
    duckrow("down")
    duckrow.sql("UPDATE jobs SET name = ? WHERE id = 5", NAME)
    return duckrow


def test_ls_fits_the_screen(long_queue: Duckrow) -> None:
    for columns, rows in ((40, 10), (60, 24), (80, 24), (120, 30), (200, 50)):
        lines = in_a_terminal(long_queue, columns, rows, "ls")
        assert max(map(display_width, lines)) <= columns, lines
        assert len(lines) < rows  # the prompt has its line, too
        assert len(lines) >= rows - 3  # and the rest of the screen is used
        assert lines[0].startswith("ID")
        shown = [int(line.split()[0]) for line in lines[1:] if re.match(r"\d+ +(train|echo|a-name)", line)]
        assert shown == list(range(1, len(shown) + 1))
        assert lines[-1] == f"{50 - len(shown)} more: add --page 2 or --all"
        if columns >= 80:  # the command is cut, and nothing else
            assert lines[5].split()[:3] == ["5", NAME, "queued"]
            assert lines[1].endswith("…")
    after = in_a_terminal(long_queue, 80, 24, "ls", "--page", "2")
    before = in_a_terminal(long_queue, 80, 24, "ls")
    assert int(after[1].split()[0]) == int(before[-3].split()[0]) + 1
    assert len(in_a_terminal(long_queue, 200, 24, "ls", "--all")) > 50
