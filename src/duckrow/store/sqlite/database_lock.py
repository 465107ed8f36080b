"""A lock inside the database file, one byte for each host. Removing other files cannot undo it.

The lock file in `hosts/` can be removed while its host lives. This lock belongs to the database itself, whose rows
say what a host is: as long as two programs use the same database, they see the same locks.
"""

from __future__ import annotations

import fcntl
import os
import struct

from duckrow.store.sqlite.database_files import FileId, file_id

_FIRST_BYTE = 1 << 62  # far after the bytes that SQLite locks, and after all data
_MOST_HOSTS = 1 << 40
_FLOCK = "hhqqi4x"  # the kernel's struct flock: type, whence, start, length, pid

# Closing any file of the database would undo the locks that SQLite has in this process (POSIX asks for that): the ones
# that we ask by stay open, and those of hosts that have ended wait for the next host.
_asking: dict[FileId, int] = {}
_idle: dict[FileId, list[int]] = {}


def take(path: str, host_id: int) -> int | None:
    """Become this host: an open file that you must not close before the database; None: another process is it."""
    fd = _idle_file(path)
    if fd is None:
        fd = os.open(path, os.O_RDWR)
    request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _FIRST_BYTE + host_id, 1, 0)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, request)
    except (BlockingIOError, PermissionError):
        _keep_idle(fd)
        return None
    except OSError:
        pass  # a file system without such locks: the lock file must be enough
    return fd


def let_go(fd: int, host_id: int) -> None:
    """Stop being that host. The file stays open: others in this process may use the database."""
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, _FIRST_BYTE + host_id, 1, 0))
    _keep_idle(fd)


def _idle_file(path: str) -> int | None:
    known = file_id(path)
    files = _idle.get(known) if known is not None else None
    return files.pop() if files else None


def _keep_idle(fd: int) -> None:
    _idle.setdefault(_id_of(fd), []).append(fd)


def is_taken(path: str, host_id: int) -> bool:
    """Whether a process is this host of the database that has this name now."""
    return _conflict(path, _FIRST_BYTE + host_id, 1) is not None


def any_taken(path: str) -> int | None:
    """A living host of this database, or None."""
    start = _conflict(path, _FIRST_BYTE, _MOST_HOSTS)
    return None if start is None else start - _FIRST_BYTE


def _conflict(path: str, start: int, length: int) -> int | None:
    """Where the first lock of others within these bytes begins."""
    fd = _file_to_ask_by(path)
    if fd is None:
        return None
    question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    try:
        answer = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_OFD_GETLK, question))
    except OSError:
        return None
    return None if answer[0] == fcntl.F_UNLCK else int(answer[2])


def _file_to_ask_by(path: str) -> int | None:
    known = file_id(path)
    if known is None:
        return None
    if known not in _asking:
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        _asking.setdefault(_id_of(fd), fd)
        return fd
    return _asking[known]


def _id_of(fd: int) -> FileId:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
