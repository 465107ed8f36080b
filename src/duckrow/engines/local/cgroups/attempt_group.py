"""The cgroup of one attempt: who is in it, ending them all at once, the memory that they took."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator, Sequence

_REMOVED = (errno.ENOENT, errno.ENODEV)  # ENODEV: while its file was open
_ENTER = 'echo 0 > "$1" || { echo "duckrow: cannot enter the cgroup $1" >&2; exit 126; }; shift; exec "$@"'


class AttemptGroup:
    """A folder of cgroup v2. What a process in it forks is born in it, whatever it does to hide."""

    def __init__(self, folder: str, outside: str) -> None:
        self.folder = folder
        self._outside = outside  # a group that is nobody's attempt
        self.moved_mb = 0  # what its processes had when they were moved here: that stays counted where they were

    def take(self, pid: int, pidfd: int) -> bool:
        """Move a process here; the pidfd says which one is meant. What it forked before stays where it is."""
        if not write_to_kernel(f"{self.folder}/cgroup.procs", str(pid)):
            return False
        if not has_ended(pidfd):
            return True
        # It ended meanwhile. If its number was given to another process, that one is not ours to keep.
        if pid in self.pids():
            write_to_kernel(f"{self._outside}/cgroup.procs", str(pid))
        return False

    def entering(self, argv: Sequence[str]) -> list[str]:
        """A command that enters the group before it becomes this one: then all of its memory is counted here."""
        return ["/bin/sh", "-c", _ENTER, "duckrow", f"{self.folder}/cgroup.procs", *argv]

    def pids(self) -> list[int]:
        """Its living processes, also those in groups that the attempt has made itself."""
        return [int(pid) for folder in self._folders() for pid in _read(f"{folder}/cgroup.procs").split()]

    @property
    def is_empty(self) -> bool:
        """Also once it is removed. Whatever else keeps us from reading does not say so."""
        try:
            with open(f"{self.folder}/cgroup.events") as file:
                return "populated 1" not in file.read()
        except OSError as error:
            return error.errno in _REMOVED

    def kill(self) -> bool:
        """SIGKILL to all at once, so that none can fork its way out. False if that cannot be."""
        return write_to_kernel(f"{self.folder}/cgroup.kill", "1")

    def remove(self) -> bool:
        """Whether it is gone; it stays while processes are in it."""
        if not self.is_empty:
            return False
        for folder in sorted(self._folders(), key=len, reverse=True):  # those inside first
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                return False
        return True

    def _folders(self) -> Iterator[str]:
        return (folder for folder, _, _ in os.walk(self.folder))

    # -- memory: None where it is not counted for this group ---------------------------------------------------

    def memory_peak_mb(self) -> int | None:
        """Exact if it has entered; of processes that were moved, with all that they had by then."""
        peak = _read(f"{self.folder}/memory.peak")
        return -(-int(peak) >> 20) + self.moved_mb if peak else None

    def oom_kills(self) -> int | None:
        """How many of its processes the kernel has killed because memory had run out, anywhere."""
        for line in _read(f"{self.folder}/memory.events").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return None

    def limit_memory(self, megabytes: int) -> bool:
        """Have the kernel end processes of the attempt that want more. False if it does not obey."""
        write_to_kernel(f"{self.folder}/memory.swap.max", "0")  # else it would only become slow; not all have swap
        return write_to_kernel(f"{self.folder}/memory.max", str(megabytes << 20))


def has_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def write_to_kernel(path: str, text: str) -> bool:
    """Whether it has obeyed."""
    try:
        fd = os.open(path, os.O_WRONLY)  # never created: a plain file would mean that this is not a cgroup
    except OSError:
        return False
    try:
        os.write(fd, text.encode())
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
