"""The ends of logs, found without reading all of them."""

from __future__ import annotations

import os

from duckrow.store.plain_files import open_plain

FIRST_BYTES = 1 << 12  # enough for a few lines, and quick for thousands of logs
MOST_BYTES = 1 << 26  # of a log that is one endless line, more is not read to find where it begins


def fold_progress(line: str) -> str:
    """What a terminal would show of a line in which a progress bar went back to its beginning."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]


def last_lines(path: str, count: int, blank: bool = False) -> list[str]:
    """The last lines of a log, `blank` ones too if asked for; none if there is no log."""
    try:
        with open_plain(path) as file:
            size = file.seek(0, os.SEEK_END)
            wanted = FIRST_BYTES
            while True:
                file.seek(max(size - wanted, 0))
                enough = wanted >= min(size, MOST_BYTES)
                lines = _lines_of(file.read(wanted), whole=enough, blank=blank)
                if len(lines) >= count or enough:
                    return lines[-count:]
                wanted *= 4
    except OSError:
        return []


def _lines_of(data: bytes, whole: bool, blank: bool) -> list[str]:
    lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    if not whole:
        del lines[0]  # its beginning is missing
    folded = [fold_progress(line) for line in lines]
    return folded if blank and data else [line for line in folded if line.strip()]
