"""The cgroup of one attempt: its processes, killing them all at once, the memory that they used."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator, Sequence

_REMOVED = (errno.ENOENT, errno.ENODEV)  # ENODEV: removed while its file was open
_ENTER = 'echo 0 > "$1" || { echo "duckrow: cannot enter the cgroup $1" >&2; exit 126; }; shift; exec "$@"'


class AttemptGroup:
    """A folder of cgroup v2. What its processes fork is in it too, whatever they do to hide."""

    def __init__(self, folder: str, outside: str) -> None:
        self.folder = folder
        self._outside = outside  # a group that does not belong to an attempt
        self.moved_mb = 0  # what its processes had when they were moved here: still counted in their old group

    def take(self, pid: int, pidfd: int) -> bool:
        """Move a process here; the pidfd says which one is meant. What it forked earlier stays where it is."""
        if not write_to_kernel(f"{self.folder}/cgroup.procs", str(pid)):
            return False
        if not has_ended(pidfd):
            return True
        # It ended meanwhile. If another process now has its PID, we moved the wrong one: move it out again.
        if pid in self.pids():
            write_to_kernel(f"{self._outside}/cgroup.procs", str(pid))
        return False

    def entering(self, argv: Sequence[str]) -> list[str]:
        """A command that enters the group and then executes this one, so that all of its memory is counted here."""
        return ["/bin/sh", "-c", _ENTER, "duckrow", f"{self.folder}/cgroup.procs", *argv]

    def pids(self) -> list[int]:
        """Its living processes, also those in groups that the attempt itself has made."""
        return [int(pid) for folder in self._folders() for pid in _read(f"{folder}/cgroup.procs").split()]

    @property
    def is_empty(self) -> bool:
        """True also once it is removed. Any other error does not mean that it is empty."""
        try:
            with open(f"{self.folder}/cgroup.events") as file:
                return "populated 1" not in file.read()
        except OSError as error:
            return error.errno in _REMOVED

    def kill(self) -> bool:
        """Send SIGKILL to all at once, so that none can escape by forking. False if that is not possible."""
        return write_to_kernel(f"{self.folder}/cgroup.kill", "1")

    def remove(self) -> bool:
        """Remove it. False while processes are in it."""
        if not self.is_empty:
            return False
        for folder in sorted(self._folders(), key=len, reverse=True):  # inner ones first
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
        """Exact if the attempt started here; for moved processes, plus what they had when they were moved."""
        peak = _read(f"{self.folder}/memory.peak")
        return -(-int(peak) >> 20) + self.moved_mb if peak else None

    def oom_kills(self) -> int | None:
        """How many of its processes the kernel has killed because the group or the machine ran out of memory."""
        for line in _read(f"{self.folder}/memory.events").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return None

    def limit_memory(self, megabytes: int) -> bool:
        """Have the kernel kill processes of the attempt when it wants more. False if the kernel refuses."""
        write_to_kernel(f"{self.folder}/memory.swap.max", "0")  # else it would only get slow; not all have swap
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
    """Whether the kernel accepted it."""
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
