"""The ends of logs, and logs as they grow."""

from __future__ import annotations

import os
from collections.abc import Iterator

_CHUNK_BYTES = 1 << 16


def fold_progress(line: str) -> str:
    """What a terminal would show of a line in which a progress bar went back to its beginning."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]


def last_lines(path: str, count: int, blank: bool = False) -> list[str]:
    """The last lines of a log, `blank` ones too if asked for; none if there is no log."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            wanted = _CHUNK_BYTES
            while True:
                file.seek(max(size - wanted, 0))
                lines = _lines_of(file.read(wanted), whole=wanted >= size, blank=blank)
                if len(lines) >= count or wanted >= size:
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


class GrowingLog:
    """A log that is being written; gives what has come since the last look."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._offset = 0

    def more(self) -> Iterator[bytes]:
        try:
            with open(self.path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                if size < self._offset:  # cut in the middle by --max-log: go on from its end
                    self._offset = size
                file.seek(self._offset)
                while data := file.read(_CHUNK_BYTES):
                    self._offset += len(data)
                    yield data
        except FileNotFoundError:
            return


class GrowingLines:
    """The same by whole lines."""

    def __init__(self, path: str) -> None:
        self._log = GrowingLog(path)
        self._partial = b""

    def more(self, final: bool = False) -> list[str]:
        data = self._partial + b"".join(self._log.more())
        *lines, self._partial = data.split(b"\n")
        if final and self._partial:
            lines.append(self._partial)
            self._partial = b""
        return [fold_progress(line.decode("utf-8", "replace")) for line in lines]
