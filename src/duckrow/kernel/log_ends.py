"""The ends of logs, found without reading all of them."""

from __future__ import annotations

import os

from duckrow.kernel.plain_files import open_plain

FIRST_BYTES = 1 << 12  # enough for a few lines, and quick for thousands of logs
MOST_BYTES = 1 << 24  # if a log is one endless line, no more is read to find where it begins
SHORT_BYTES = 1 << 20  # the same, for callers that only want the beginnings of lines
LINE_SHOWN = 2000  # characters of a line in a summary
_SPACES = 1000  # a line of more bytes than this is not blank, whatever its spaces are


def fold_progress(line: str) -> str:
    """What a terminal would show of a line that a progress bar has overwritten."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]


def last_lines(path: str, count: int, blank: bool = False, longest: int | None = None) -> list[str]:
    """The last lines of a log, with `blank` ones if asked for, each cut to `longest`; empty if there is no log."""
    most = MOST_BYTES if longest is None else SHORT_BYTES
    try:
        with open_plain(path) as file:
            size = file.seek(0, os.SEEK_END)
            wanted = FIRST_BYTES
            while True:
                file.seek(max(size - wanted, 0))
                enough = wanted >= min(size, most)
                lines = _lines_of(file.read(wanted), whole=enough, blank=blank)
                if len(lines) >= count or enough:
                    return [line.decode("utf-8", "replace")[:longest] for line in lines[-count:]]
                wanted = min(wanted * 4, most)
    except OSError:
        return []


def _lines_of(data: bytes, whole: bool, blank: bool) -> list[bytes]:
    lines = data.removesuffix(b"\n").split(b"\n")
    if not whole:
        del lines[0]  # its beginning is missing
    folded = [line.rstrip(b"\r").rsplit(b"\r", 1)[-1] for line in lines]
    return folded if blank and data else [line for line in folded if not _is_blank(line)]


def _is_blank(line: bytes) -> bool:
    return not line.strip() or (len(line) < _SPACES and not line.decode("utf-8", "replace").strip())
