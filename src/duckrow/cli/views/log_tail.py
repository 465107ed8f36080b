"""Logs as they grow."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from duckrow.kernel.log_ends import MOST_BYTES
from duckrow.kernel.plain_files import open_plain

_CHUNK_BYTES = 1 << 16
_NO_LOG = (errno.ENOENT, errno.EINVAL, errno.ENXIO)  # there is none, or there is a pipe or a device in its place
_LONGEST_BYTES = 1 << 17  # how much of a line is held back until it is complete


class GrowingLog:
    """A log that is being written; returns what is new since the last look."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self.path = path
        self._offset = offset

    def more(self) -> Iterator[bytes]:
        try:
            with open_plain(self.path) as file:
                size = file.seek(0, os.SEEK_END)
                if size < self._offset:  # truncated by --max-log: continue from its end
                    self._offset = size
                file.seek(self._offset)
                while data := file.read(_CHUNK_BYTES):
                    self._offset += len(data)
                    yield data
        except OSError as error:
            if error.errno not in _NO_LOG:
                raise


class GrowingLines:
    """The same by whole lines, with progress bars folded. It holds little in memory, however long the lines."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self._log = GrowingLog(path, offset)
        self._partial = b""
        self._is_within = False  # the beginning of a long line was already returned

    def more(self, final: bool = False) -> list[str]:
        text = b"".join(self.more_bytes(b"", final)).decode("utf-8", "replace")
        return text.removesuffix("\n").split("\n") if text else []

    def more_bytes(self, prefix: bytes = b"", final: bool = False) -> Iterator[bytes]:
        """The text to print, each line after the prefix, without what a progress bar has overwritten.

        A very long line is returned in pieces, and then cannot be folded any more.
        """
        for data in self._log.more():
            if self._is_within and b"\n" not in data:
                yield data
                continue
            *lines, self._partial = (self._partial + data).split(b"\n")
            for line in lines:
                yield self._piece(prefix, line) + b"\n"
                self._is_within = False
            if len(self._partial) > _CHUNK_BYTES:
                self._partial = _overwritten_left_out(self._partial)
            if len(self._partial) > _LONGEST_BYTES:
                yield self._piece(prefix, self._partial)
                self._partial, self._is_within = b"", True
        if final and (self._partial or self._is_within):
            yield self._piece(prefix, self._partial) + b"\n"
            self._partial, self._is_within = b"", False

    def _piece(self, prefix: bytes, text: bytes) -> bytes:
        return text if self._is_within else prefix + _fold(text)


def _overwritten_left_out(line: bytes) -> bytes:
    return line[max(line.rstrip(b"\r").rfind(b"\r"), 0) :]


def _fold(line: bytes) -> bytes:
    return line.rstrip(b"\r").rsplit(b"\r", 1)[-1] if b"\r" in line else line


def offset_of_last_lines(path: str, count: int) -> int:
    """Where the last lines of a log begin."""
    try:
        with open_plain(path) as file:
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
    except OSError:
        return 0
