"""The files of the database, identified by device and inode and not by name.

A process keeps using a file that it has open when somebody removes or replaces its name. Then two programs can use the
same name but different files.
"""

from __future__ import annotations

import os

from duckrow.core.named_tuple import NamedTuple

FileId = tuple[int, int]
"""Device and inode. As long as somebody has the file open, no other file gets them."""

_MAGIC = b"SQLite format 3\0"


class DatabaseFiles(NamedTuple):
    """None: the file does not exist."""

    database: FileId | None
    wal: FileId | None
    shm: FileId | None


def file_id(path: str) -> FileId | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def files_of(path: str) -> DatabaseFiles:
    """The files that have these names at this moment."""
    return DatabaseFiles(file_id(path), file_id(f"{path}-wal"), file_id(f"{path}-shm"))


def size_of(path: str) -> int:
    """In bytes; 0 if the file does not exist."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def missing_bytes(fd: int) -> int | None:
    """How many bytes the database behind `fd` lacks, by what its first page says; None: it is not a database.

    While a checkpoint is written, this may be more than 0 for a moment.
    """
    head = os.pread(fd, 100, 0)
    if not head.startswith(_MAGIC):
        return None
    page_size = int.from_bytes(head[16:18], "big")
    wanted = int.from_bytes(head[28:32], "big") * (65536 if page_size == 1 else page_size)
    return max(wanted - os.fstat(fd).st_size, 0)
