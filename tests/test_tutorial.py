"""The tutorial shows what really happens. `python -m tests.test_tutorial --write` writes today's output into it."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Duckrow
from tests.shown import CONSOLE, Terminal, differences

PAGE = Path(__file__).parent.parent / "docs/tutorial.md"


def walk_through(terminal: Terminal, block_done: Callable[[str, str], None]) -> None:
    """All commands of the page in their order, each block with what it tells today."""
    text = PAGE.read_text()
    (script,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (terminal.folder / "train.py").write_text(script)
    try:
        for block in CONSOLE.findall(text):
            block_done(block, terminal.retold(block))
    finally:
        terminal.type("duckrow down --kill")


def test_the_tutorial_shows_what_happens(duckrow: Duckrow) -> None:
    old: list[str] = []
    walk_through(Terminal(duckrow.work, duckrow.env), lambda shown, told: old.extend(differences(shown, told)))
    assert not old, "\n".join([*old, "Run: python -m tests.test_tutorial --write"])


def write() -> None:
    told: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        (work := Path(folder, "work")).mkdir()
        env = {**os.environ, "DUCKROW_HOME": f"{folder}/state", "NO_COLOR": "1", "COLUMNS": "160"}
        walk_through(
            Terminal(work, env), lambda shown, now: told.append(now if any(differences(shown, now)) else shown)
        )
    blocks = iter(told)
    PAGE.write_text(CONSOLE.sub(lambda _: next(blocks), PAGE.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("Usage: python -m tests.test_tutorial --write")
    write()
