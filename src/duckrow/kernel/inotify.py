"""Notices from the kernel that files were created, removed, renamed or changed (inotify)."""

from __future__ import annotations

import ctypes
import os
import struct

MODIFIED = 0x2
_MOVED_FROM, _MOVED_TO, _CREATED, _DELETED = 0x40, 0x80, 0x100, 0x200
_SELF_DELETED, _SELF_MOVED, _ATTRIBUTES = 0x400, 0x800, 0x4
NAMES = _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED | _SELF_DELETED | _SELF_MOVED
"""What happens to the names in a folder, and to the folder itself."""
ONE_FILE = MODIFIED | _SELF_DELETED | _SELF_MOVED | _ATTRIBUTES
"""What happens to one file."""

_EVENT = struct.Struct("iIII")  # watch, what, cookie, length of the name
_EVENTS_BYTES = 1 << 16


class Inotify:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify cannot be used")
        from weakref import finalize  # many hosts end before they have one

        # Closed with its owner at the latest: a user has only 128 of these for all processes together.
        self.close = finalize(self, os.close, self.fd)

    def add(self, path: str, mask: int) -> None:
        """Watch a file or a folder; adding it again changes nothing."""
        if self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)

    def read(self) -> set[str]:
        """The names in folders that something happened to; '' for the file or folder itself."""
        try:
            data = os.read(self.fd, _EVENTS_BYTES)
        except BlockingIOError:
            return set()
        names: set[str] = set()
        at = 0
        while at < len(data):
            length = _EVENT.unpack_from(data, at)[3]
            at += _EVENT.size
            names.add(os.fsdecode(data[at : at + length].rstrip(b"\0")))
            at += length
        return names


class FileWatch:
    """`fd` becomes readable when one of the files has changed; None if none was added, or the kernel gives no more.

    The kernel is asked with the first file: a user has few of these, and most keepers never need one.
    """

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._was_asked = False  # once: who has no `fd` by then looks for themselves

    @property
    def fd(self) -> int | None:
        return None if self._inotify is None else self._inotify.fd

    def add(self, path: str) -> None:
        try:
            if not self._was_asked:
                self._was_asked = True
                self._inotify = Inotify()
            if self._inotify is not None:
                self._inotify.add(path, ONE_FILE)
        except OSError:
            pass  # the file is not there, or the kernel gives no more

    def hush(self) -> None:
        """Discard the notices so far."""
        while self._inotify is not None and self._inotify.read():
            pass
