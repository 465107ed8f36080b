"""A log of limited size that keeps its beginning and its end."""

from __future__ import annotations

import os


class CappedLog:
    """Has one writer, which passes it all the output. As it grows, the middle is dropped."""

    def __init__(self, path: str, cap: int) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.cap = max(cap, 4096)
        self.head = self.cap // 2
        self.keep = self.cap // 4
        self.size = os.lseek(self.fd, 0, os.SEEK_END)
        self.cut = 0

    def write(self, data: bytes) -> None:
        if self.size + len(data) > self.cap:
            data = self._make_room(data)
        os.pwrite(self.fd, data, self.size)
        self.size += len(data)

    def _make_room(self, data: bytes) -> bytes:
        """Drop the middle: the next output follows the head, after a line that says so."""
        fill = data[: max(self.head - self.size, 0)]
        if fill:
            os.pwrite(self.fd, fill, self.size)
            self.size += len(fill)
            data = data[len(fill) :]
        tail_at = max(self.head, self.size - self.keep)
        tail = (os.pread(self.fd, self.size - tail_at, tail_at) + data)[-self.keep :]
        self.cut += (self.size - self.head) + len(data) - len(tail)
        os.ftruncate(self.fd, self.head)
        self.size = self.head
        return b"\n[duckrow: about %d bytes cut here by --max-log]\n" % self.cut + tail

    def close(self) -> None:
        os.close(self.fd)
