"""One lock for each GPU, shared by all users of the machine: who decides to use free memory keeps others from it."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterable
from typing import NamedTuple

from duckrow.kernel.process import boot_id

FOLDER = "/tmp/duckrow-gpu-locks"
VARIABLE = "DUCKROW_GPU_LOCKS"

_DEAD_PROMISE_S = 60.0  # a promise whose maker has died holds so long: its jobs may still be about to take the memory


class _Mark(NamedTuple):
    """What stands in a lock's file: who promised memory there last, when, and whether it can be seen by now."""

    mono: float
    is_open: bool  # not yet to be seen
    who: str


class GpuLocks:
    """Held from the decision to start something there until its memory can be seen by everybody."""

    def __init__(self, who: str, folder: str | None = None) -> None:
        """`who`: one name for all who book in the same database."""
        self._who = re.sub(r"\s", "_", who) or "-"
        self._folder = folder or os.environ.get(VARIABLE) or FOLDER
        self._held: dict[str, int] = {}
        self._promised: set[str] = set()
        # When others have promised memory of a GPU, or it came to be seen; by the monotonic clock.
        self.changed_mono: dict[str, float] = {}

    def take(self, gpus: Iterable[str]) -> set[str]:
        """Take those that nobody else has; the others."""
        return {gpu for gpu in gpus if gpu not in self._held and not self._take(gpu)}

    def promise(self, gpus: Iterable[str]) -> None:
        """Of these that we hold, memory is given to a job."""
        for gpu in gpus:
            if gpu in self._held:
                self._promised.add(gpu)
                _write(self._held[gpu], _Mark(time.monotonic(), True, self._who))

    def release(self, gpus: Iterable[str]) -> None:
        for gpu in list(gpus):
            fd = self._held.pop(gpu, None)
            if fd is None:
                continue
            if gpu in self._promised:
                self._promised.discard(gpu)
                _write(fd, _Mark(time.monotonic(), False, self._who))
            os.close(fd)

    @property
    def held(self) -> set[str]:
        return set(self._held)

    def _take(self, gpu: str) -> bool:
        try:
            fd = self._open(gpu)
        except OSError:
            return True  # no place to agree with others; then we are as we would be without them
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        mark = _read(fd)
        if mark is not None and mark.who != self._who:
            if mark.is_open and time.monotonic() - mark.mono < _DEAD_PROMISE_S:
                os.close(fd)
                return False
            self.changed_mono[gpu] = mark.mono
        self._held[gpu] = fd
        return True

    def _open(self, gpu: str) -> int:
        if not os.path.isdir(self._folder):
            os.makedirs(self._folder, exist_ok=True)
            os.chmod(self._folder, 0o1777)
        path = os.path.join(self._folder, re.sub(r"[^A-Za-z0-9.-]", "_", gpu))
        try:
            # Not O_CREAT on what is there: in a sticky folder that is refused for the files of others.
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            os.fchmod(fd, 0o666)
            return fd


def _write(fd: int, mark: _Mark) -> None:
    try:
        os.ftruncate(fd, 0)
        # The wall time is for duckrows of an older version.
        words = f"{time.time()!r} {mark.is_open:d} {mark.who} {mark.mono!r} {boot_id() or '-'}\n"
        os.pwrite(fd, words.encode(), 0)
    except OSError:
        pass  # a full disk: others know less, and look no less


def _read(fd: int) -> _Mark | None:
    """None: nobody has promised anything yet, or what stands there is not ours."""
    words = os.pread(fd, 4096, 0).decode(errors="replace").split()
    at, is_open, who, mono, boot = (*words, "", "", "", "", "")[:5]
    if boot and boot != (boot_id() or "-"):
        return None  # whoever it was ended with that boot
    try:
        # An older version tells the wall time only.
        when = float(mono) if boot else time.monotonic() - (time.time() - float(at))
    except ValueError:
        return None
    return _Mark(when, is_open == "1", who) if when <= time.monotonic() else None
