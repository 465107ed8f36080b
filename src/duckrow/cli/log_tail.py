"""Logs as they grow."""

from __future__ import annotations

import os
from collections.abc import Iterator

from duckrow.api.log_ends import MOST_BYTES

_CHUNK_BYTES = 1 << 16


class GrowingLog:
    """A log that is being written; gives what has come since the last look."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self.path = path
        self._offset = offset

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
    """The same by whole lines, with progress bars folded."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self._log = GrowingLog(path, offset)
        self._partial = b""

    def more(self, final: bool = False) -> list[str]:
        return [line.decode("utf-8", "replace") for line in self.more_bytes(final)]

    def more_bytes(self, final: bool = False) -> Iterator[bytes]:
        """As it was written, but for what a progress bar has overwritten. However long the log, little is held."""
        for data in self._log.more():
            *lines, self._partial = (self._partial + data).split(b"\n")
            for line in lines:
                yield _fold(line)
            if len(self._partial) > _CHUNK_BYTES:
                self._partial = self._partial[max(self._partial.rstrip(b"\r").rfind(b"\r"), 0) :]
        if final and self._partial:
            yield _fold(self._partial)
            self._partial = b""


def _fold(line: bytes) -> bytes:
    return line.rstrip(b"\r").rsplit(b"\r", 1)[-1] if b"\r" in line else line


def offset_of_last_lines(path: str, count: int) -> int:
    """Where the last lines of a log begin."""
    try:
        with open(path, "rb") as file:
            size = at = file.seek(0, os.SEEK_END)
            newlines = 0
            while at > max(size - MOST_BYTES, 0):
                begin = max(at - _CHUNK_BYTES, 0)
                file.seek(begin)
                data = file.read(at - begin)
                end = len(data) - 1 if at == size and data.endswith(b"\n") else len(data)
                while (end := data.rfind(b"\n", 0, end)) >= 0:
                    newlines += 1
                    if newlines == count:
                        return begin + end + 1
                at = begin
            return at
    except FileNotFoundError:
        return 0
