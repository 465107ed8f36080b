"""How much disk space the state uses, and how much is left: a warning before the disk is full."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from duckrow.api.machine.finding import OK, PROBLEM, WARN, Finding

_GIB = 1 << 30
_LITTLE_BYTES, _NO_BYTES = _GIB, 50 << 20
_LITTLE_SHARE = 0.02  # of a large disk, because large disks also fill up in larger steps
_MOST_WANTED_BYTES = 20 * _GIB
_LITTLE_FILES, _NO_FILES = 20_000, 500  # each job takes a folder and a log
_LOOK_S = 2.0  # time to look at the folders of jobs; there may be millions
_ADVICE = "Make room: logs and the queue are written there. `duckrow clean --older-than 30d` forgets old jobs."


def space_findings(root: str) -> Iterator[Finding]:
    room = os.statvfs(root)
    free, size = room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize
    little = max(_LITTLE_BYTES, min(size * _LITTLE_SHARE, _MOST_WANTED_BYTES))
    level = PROBLEM if free < _NO_BYTES else WARN if free < little else OK
    yield Finding("free space", level, f"{_in_gib(free)} of {_in_gib(size)}", "" if level == OK else _ADVICE)
    if room.f_files and room.f_favail < _LITTLE_FILES:
        level = PROBLEM if room.f_favail < _NO_FILES else WARN
        yield Finding("free files", level, f"room for {room.f_favail} more files (inodes)", _ADVICE)
    yield _own_size(root, free)


def _own_size(root: str, free: int) -> Finding:
    """Warns if the state alone uses more than is left."""
    database = sum(_size(f"{root}/duckrow.db{end}") for end in ("", "-wal"))
    runs, is_all = _size_below(f"{root}/runs")
    at_least = "" if is_all else "at least "
    found = f"the database {_in_gib(database)}, logs and run folders {at_least}{_in_gib(runs)}"
    if database + runs > max(free, _GIB):
        advice = "It is more than what is free. `duckrow clean`, or `daemon.keep` in the settings, forgets old jobs."
        return Finding("size", WARN, found, advice)
    return Finding("size", OK, found)


def _size_below(folder: str) -> tuple[int, bool]:
    """(size in bytes, whether there was time to look at everything)."""
    deadline = time.monotonic() + _LOOK_S
    total = 0
    for where, _, names in os.walk(folder):
        total += sum(_size(os.path.join(where, name)) for name in names)
        if time.monotonic() > deadline:
            return total, False
    return total, True


def _size(path: str) -> int:
    """Its size on disk: a log may have holes, and the data of calls may have several hard links."""
    try:
        found = os.lstat(path)
        return found.st_blocks * 512 // found.st_nlink
    except OSError:
        return 0


def _in_gib(count: float) -> str:
    return f"{count / _GIB:.1f} GiB"
