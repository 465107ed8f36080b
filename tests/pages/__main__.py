"""Write today's output into the pages: `python -m tests.pages --write [PAGE...]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.pages.arounds import AROUND
from tests.pages.reading import blocks, page, rewritten
from tests.pages.telling import told_by_page
from tests.pages.walk import old_lines


def write(name: str) -> None:
    if not any(block.language == "console" for block in blocks(name)):
        return
    with tempfile.TemporaryDirectory() as folder:
        told = told_by_page(name, Path(folder))
    changed = {shown: now for shown, now in told if old_lines(shown, now)}
    if changed:
        page(name).write_text(rewritten(name, changed))
        print(f"{name} was rewritten.")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit("Usage: python -m tests.pages --write [PAGE...]")
    for each in sys.argv[2:] or AROUND:
        write(each)
