"""The cgroups of attempts: making one, finding it again after a host has died, removing those that are left."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator

from duckrow.core.cgroup_place import HOST_LEAF, MEMORY, VARIABLE, Place, find_place, mount_points
from duckrow.engines.local.attempt_group import AttemptGroup

_NAME = re.compile(r"duckrow-[0-9a-f]{8}-(?P<journal>[^/]+)\.\d+")


class ThisMachine:
    """The kernel's files, as `find_place` looks at them."""

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


class Cgroups:
    """Those of one state folder. The name of a group has its attempt's tag, so it can be told whose it is."""

    def __init__(self, place: Place, keepers_folder: str) -> None:
        self._place = place
        self._keepers = keepers_folder
        self._prefix = f"duckrow-{zlib.crc32(os.fsencode(os.path.realpath(keepers_folder))):08x}-"

    @classmethod
    def find(cls, keepers_folder: str) -> Cgroups | None:
        """None where no group can be had. Nothing is made, and the host stays where it is."""
        if os.environ.get(VARIABLE) == "off":
            return None
        place = find_place(ThisMachine(), os.getpid())
        if place.why_not:
            return None
        if place.counts_memory:
            _count_memory(place.base)
        return cls(place, keepers_folder)

    def make(self, tag: str) -> AttemptGroup | None:
        """A new group for the attempt with this tag; None if the kernel does not allow it."""
        folder = f"{self._place.base}/{self._prefix}{tag}"
        try:
            os.mkdir(folder, 0o755)
        except OSError:
            return None
        return AttemptGroup(folder, self._place.own)

    def again(self, tag: str) -> AttemptGroup | None:
        """The group that an earlier host, maybe in another place, has made for this attempt."""
        name = self._prefix + tag
        return next((group for group in self._made() if os.path.basename(group.folder) == name), None)

    def sweep(self) -> None:
        """Remove what dead hosts have left: empty groups of this state folder whose journal is gone."""
        for group in self._made():
            name = _NAME.fullmatch(os.path.basename(group.folder))
            if name and not os.path.exists(f"{self._keepers}/{name['journal']}"):
                group.remove()

    def _made(self) -> Iterator[AttemptGroup]:
        """All groups of this state folder that are to be seen, and are this user's."""
        for point in mount_points(ThisMachine()):
            for folder, inside, _ in os.walk(point):
                for name in inside:
                    path = f"{folder}/{name}"
                    if name.startswith(self._prefix) and _is_ours(path):
                        yield AttemptGroup(path, self._place.own)


def tag_in_group(pid: int) -> str | None:
    """The tag of the attempt in whose group a process is, if it is in one of any duckrow. It cannot hide that."""
    for line in ThisMachine().read(f"/proc/{pid}/cgroup").splitlines():
        found = [part for part in line.split("/") if _NAME.fullmatch(part)] if line.startswith("0::") else []
        if found:
            return found[-1].split("-", 2)[2]
    return None


def leave_attempt_group() -> bool:
    """Move this process out of the group of the attempt that has started it: a daemon is no part of a job."""
    own = find_place(ThisMachine(), os.getpid()).own
    outside = own
    while _NAME.fullmatch(os.path.basename(outside)):
        outside = os.path.dirname(outside)
    if outside == own:
        return True
    for folder in (f"{outside}/{HOST_LEAF}", outside):
        try:
            with open(f"{folder}/cgroup.procs", "w") as file:
                file.write("0")
            return True
        except OSError:
            pass
    return False


def _is_ours(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def _count_memory(base: str) -> None:
    """For the groups below. The kernel refuses if processes are in the base itself; then it is not counted."""
    try:
        with open(f"{base}/cgroup.subtree_control", "w") as file:
            file.write(f"+{MEMORY}")
    except OSError:
        pass
