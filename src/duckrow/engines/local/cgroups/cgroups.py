"""The cgroups of attempts: makes them, finds them again after a host has died, removes those that are left."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator

from duckrow.core.late_pattern import late_pattern
from duckrow.engines.local.cgroups.attempt_group import AttemptGroup, write_to_kernel
from duckrow.kernel.cgroup_place import (
    HOST_LEAF,
    MEMORY,
    VARIABLE,
    CgroupPlace,
    ThisMachine,
    find_place,
    mount_points,
    path_of,
)

_NAME = late_pattern(r"duckrow-[0-9a-f]{8}-(?P<journal>[^/]+)\.\d+")


class Cgroups:
    """The groups of one state folder. The name of a group contains its attempt's tag, which shows whose it is."""

    def __init__(self, place: CgroupPlace, keepers_folder: str) -> None:
        self._place = place
        self._keepers = keepers_folder
        self._prefix = f"duckrow-{zlib.crc32(os.fsencode(os.path.realpath(keepers_folder))):08x}-"

    @classmethod
    def find(cls, keepers_folder: str) -> Cgroups | None:
        """None if cgroups are not available. Creates nothing, and does not move the host."""
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

    def again(self, tags: Collection[str]) -> dict[str, AttemptGroup]:
        """The groups that an earlier host, perhaps in another place, has made for these attempts."""
        made = {os.path.basename(group.folder)[len(self._prefix) :]: group for group in self.made()}
        return {tag: made[tag] for tag in tags if tag in made}

    def sweep(self) -> None:
        """Remove what dead hosts have left: empty groups of this state folder whose journal is gone."""
        for group in self.made():
            name = _NAME.fullmatch(os.path.basename(group.folder))
            if name and not os.path.exists(f"{self._keepers}/{name['journal']}"):
                group.remove()

    def made(self) -> Iterator[AttemptGroup]:
        """All visible groups of this state folder that belong to this user."""
        for point in mount_points(ThisMachine()):
            for folder, inside, _ in os.walk(point):
                for name in inside:
                    path = f"{folder}/{name}"
                    if name.startswith(self._prefix) and _is_ours(path):
                        yield AttemptGroup(path, self._place.own)


def tags_by_group(pid: int) -> list[str]:
    """The tags of the attempts whose groups a process is in, of any duckrow, outermost first. It cannot hide them."""
    return [part.split("-", 2)[2] for part in (path_of(ThisMachine(), pid) or "").split("/") if _NAME.fullmatch(part)]


def leave_attempt_group() -> bool:
    """Move this process out of the group of the attempt that started it: a daemon is not part of a job."""
    own = find_place(ThisMachine(), os.getpid()).own
    parts = own.split("/")
    of_attempts = [index for index, part in enumerate(parts) if _NAME.fullmatch(part)]
    if not of_attempts:
        return True
    outside = "/".join(parts[: of_attempts[0]])
    return any(write_to_kernel(f"{folder}/cgroup.procs", "0") for folder in (f"{outside}/{HOST_LEAF}", outside))


def _is_ours(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def _count_memory(base: str) -> None:
    """Count memory in the groups below. The kernel refuses if the base itself has processes; then it is not counted."""
    write_to_kernel(f"{base}/cgroup.subtree_control", f"+{MEMORY}")
