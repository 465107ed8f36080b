"""Where cgroups for attempts can be created: read from what the kernel reports, never guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.protocol import Protocol
from duckrow.kernel.process import environment_of

HOST_LEAF = "duckrow-host"
"""The daemon's own group in a delegated unit: the unit's group itself holds no process (see `CgroupPlace`)."""

VARIABLE = "DUCKROW_CGROUPS"
"""`off` in the environment of a host: it creates no cgroups."""

MEMORY = "memory"
_HAS_KILL = (5, 14)  # the Linux version that added cgroup.kill


class CgroupFiles(Protocol):
    """What is read; nothing is changed."""

    def read(self, path: str) -> str:
        """The text of a file; empty if it cannot be read."""

    def exists(self, path: str) -> bool: ...

    def may_write(self, path: str) -> bool: ...


class ThisMachine:
    """The kernel's own files."""

    def read(self, path: str) -> str:
        try:
            with open(path, errors="surrogateescape") as file:
                return file.read()
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def may_write(self, path: str) -> bool:
        return os.access(path, os.W_OK)


class CgroupPlace(NamedTuple):
    """`base`: the group below which attempts get theirs. It is our own group, so no limit that we have is escaped.

    A group that counts memory for the groups below it may hold no process itself. So if our own group is called
    `duckrow-host`, the base is its parent: attempts are beside the daemon, and their memory can be counted.
    """

    base: str
    own: str  # where the process itself is
    why_not: str = ""  # why groups cannot be created there; empty: they can
    counts_memory: bool = False

    @property
    def way(self) -> str:
        """For `duckrow doctor`: how the processes of an attempt are told from others."""
        if self.why_not:
            return f"process table (no cgroup available: {self.why_not})"
        memory = ", which counts its memory" if self.counts_memory else ""
        return f"its own cgroup (v2){memory}, below {self.base}"


TURNED_OFF = CgroupPlace("", "", f"{VARIABLE}=off turns them off")


def place_of_host(pid: int) -> CgroupPlace:
    """For attempts of this host process, whose environment may turn cgroups off."""
    is_off = f"{VARIABLE}=off".encode() in environment_of(pid)
    return TURNED_OFF if is_off else find_place(ThisMachine(), pid)


def find_place(machine: CgroupFiles, pid: int) -> CgroupPlace:
    """For attempts that this process starts."""
    own = next(_own_folders(machine, pid), None)
    if own is None:
        return CgroupPlace("", "", _why_invisible(machine, pid))
    above, _, name = own.rpartition("/")
    base = above if name == HOST_LEAF else own
    why_not = _why_not(machine, base)
    return CgroupPlace(base, own, why_not, not why_not and _counts_memory(machine, base, name == HOST_LEAF))


def _own_folders(machine: CgroupFiles, pid: int) -> Iterator[str]:
    path = path_of(machine, pid)
    for root, point in _mounts(machine):
        inside = path is not None and "/.." not in path + root and f"{path}/".startswith(root.rstrip("/") + "/")
        if path is not None and inside:
            folder = f"{point}/{path[len(root) :].strip('/')}".rstrip("/")
            if str(pid) in machine.read(f"{folder}/cgroup.procs").split():
                yield folder


def path_of(machine: CgroupFiles, pid: int) -> str | None:
    """Its group, as seen from the root of our cgroup namespace; a group outside of it begins with `/..`."""
    for line in machine.read(f"/proc/{pid}/cgroup").splitlines():
        if line.startswith("0::"):
            return line[len("0::") :]
    return None


def _mounts(machine: CgroupFiles) -> list[tuple[str, str]]:
    """Each mount of cgroup v2: the group that is its root, and where it is mounted."""
    found = []
    for line in machine.read("/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            root, point = fields.split(" ")[3:5]
            found.append((_unescaped(root), _unescaped(point)))
    return found


def mount_points(machine: CgroupFiles) -> list[str]:
    return [point for _, point in _mounts(machine)]


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _why_invisible(machine: CgroupFiles, pid: int) -> str:
    if path_of(machine, pid) is None:
        return "this kernel has no cgroup v2"
    if not _mounts(machine):
        return "cgroup v2 is not mounted"
    return "its own cgroup is outside of what is mounted here"


def _why_not(machine: CgroupFiles, base: str) -> str:
    if not (machine.may_write(base) and machine.may_write(f"{base}/cgroup.procs")):
        return f"you cannot write to {base}"
    if not _has_kill(machine, base):
        return "this kernel has no cgroup.kill; Linux 5.14 brought it"
    return ""


def _has_kill(machine: CgroupFiles, base: str) -> bool:
    if machine.exists(f"{base}/cgroup.events"):
        return machine.exists(f"{base}/cgroup.kill")
    # The root of the hierarchy has neither.
    release = re.match(r"(\d+)\.(\d+)", machine.read("/proc/sys/kernel/osrelease"))
    return release is not None and (int(release[1]), int(release[2])) >= _HAS_KILL


def _counts_memory(machine: CgroupFiles, base: str, is_free: bool) -> bool:
    counted = machine.read(f"{base}/cgroup.subtree_control").split()
    return MEMORY in counted or (is_free and MEMORY in machine.read(f"{base}/cgroup.controllers").split())
