"""A copy of the journal in memory that host, starters and keeper share: nobody else can damage it.

It is written before the file. When the host dies, the keeper trusts the copy, and repairs the file if it differs.
"""

from __future__ import annotations

import mmap

_PAGE = 4096
ROOM = 2 << 20


class JournalCopy:
    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PAGE + 2 * ROOM)  # anonymous and shared: a fork has the same
        # Where the text begins, with its length, and how much of it is in the file. An item of a view is stored in one
        # go, so that a death finds old or new; `struct` would clear it first.
        self._words = memoryview(self._memory)[:16].cast("Q")
        self._set(_PAGE, 0)

    @property
    def size(self) -> int:
        return self._place()[1]

    @property
    def in_file(self) -> int:
        """How much of the text the file has. What follows is in no hurry."""
        return self._words[1]

    def note_in_file(self, size: int) -> None:
        self._words[1] = size

    def text(self, begin: int = 0) -> bytes:
        start, length = self._place()
        return self._memory[start + begin : start + length]

    def append(self, data: bytes) -> bool:
        """False if there is no room. That does not happen to a journal that is shortened now and then."""
        start, length = self._place()
        if length + len(data) > ROOM:
            return False
        self._memory[start + length : start + length + len(data)] = data
        self._set(start, length + len(data))
        return True

    def cut(self, size: int) -> None:
        self._set(self._place()[0], size)
        self.note_in_file(min(self.in_file, size))

    def replace(self, data: bytes) -> None:
        """Replace the text with a shorter one, written beside the old one."""
        other = _PAGE + ROOM if self._place()[0] == _PAGE else _PAGE
        self._memory[other : other + len(data)] = data
        self._set(other, len(data))

    def _place(self) -> tuple[int, int]:
        word = self._words[0]
        return word >> 32, word & 0xFFFFFFFF

    def _set(self, start: int, length: int) -> None:
        self._words[0] = start << 32 | length
