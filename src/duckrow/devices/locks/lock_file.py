"""A lock on a GPU: an empty file. Its name says everything but the owner, which the kernel guarantees."""

from __future__ import annotations

import os
import re
import stat

from duckrow.core.named_tuple import NamedTuple
from duckrow.kernel.process import boot_id

PREFIX = "duckrow-gpu-lock"

_LONGEST_WORD = 64  # a file name has at most 255 bytes


class LockFile(NamedTuple):
    """What its name says."""

    name: str
    gpu: str
    database: str  # hosts that share it agree without locks
    boot: str
    since_mono: float

    def may_hold(self, mono: float, longest_s: float) -> bool:
        """Whether it is from this boot and not too old. It may be newer than `mono`, which was read a while ago."""
        return self.boot == this_boot() and abs(mono - self.since_mono) <= longest_s


class OwnLock(NamedTuple):
    path: str
    inode: int
    since_mono: float


def read_name(name: str) -> LockFile | None:
    """None: it is not a lock."""
    words = name.split(",")
    if len(words) != 6 or words[0] != PREFIX or not re.fullmatch(r"[0-9]{1,15}", words[4]):
        return None
    return LockFile(name, words[1], words[2], words[3], int(words[4]) / 1000)


def word(text: str) -> str:
    """The text as part of a file name."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", text)[-_LONGEST_WORD:]


def this_boot() -> str:
    return word(boot_id())[:8]


def make(folder: str, gpu: str, database: str, since_mono: float) -> OwnLock:
    """Create a lock there. Its last word is random, so nobody can have taken the name before us."""
    since_ms = str(int(since_mono * 1000))
    name = ",".join((PREFIX, word(gpu), word(database), this_boot(), since_ms, os.urandom(4).hex()))
    path = os.path.join(folder, name)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o400)
    try:
        return OwnLock(path, os.fstat(fd).st_ino, since_mono)
    finally:
        os.close(fd)


def is_there(lock: OwnLock) -> bool:
    """Whether it is the file that we made: somebody may have deleted it, and another may have the name now."""
    status = _status(lock.path)
    return status is not None and status.st_ino == lock.inode and status.st_uid == os.geteuid()


def owner_of(path: str) -> int | None:
    """The user whose lock it is; None: it is gone, or not a plain file."""
    status = _status(path)
    return status.st_uid if status is not None and stat.S_ISREG(status.st_mode) else None


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it is already gone; or nothing can be removed there now, and it will soon be too old
