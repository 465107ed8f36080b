"""Being told by the kernel that a file was changed, removed or moved away."""

from __future__ import annotations

import ctypes
import os

_IN_MODIFY, _IN_ATTRIB, _IN_DELETE_SELF, _IN_MOVE_SELF = 0x2, 0x4, 0x400, 0x800
_IN_NONBLOCK, _IN_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC


class FileWatch:
    """`fd` becomes readable when one of the files is not as it was; None where the kernel has none left to give."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        fd = self._libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
        self.fd: int | None = fd if fd >= 0 else None

    def add(self, path: str) -> None:
        if self.fd is not None:
            mask = _IN_MODIFY | _IN_ATTRIB | _IN_DELETE_SELF | _IN_MOVE_SELF
            self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask)

    def hush(self) -> None:
        """Take in what was told so far."""
        try:
            while self.fd is not None and os.read(self.fd, 1 << 16):
                pass
        except BlockingIOError:
            pass
