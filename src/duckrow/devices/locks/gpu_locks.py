"""One lock for each GPU, between all users of the machine: it keeps others off while we are about to take memory.

Each user writes files of their own, and then reads those of others. If somebody else has locked the GPU too, the user
removes their own lock. If two come at once, both may have to try again, but never do both take the lock. For the
reasons, see docs/decisions/0011-gpu-locks.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from duckrow.core.named_tuple import NamedTuple
from duckrow.devices.locks import lock_file
from duckrow.devices.locks.lock_file import LockFile, OwnLock
from duckrow.devices.locks.lock_patience import LONGEST_S, LockPatience
from duckrow.kernel.shared_folder import SharedFolder, make_shared_folder

_MOST_LOOKED_AT = 1000  # more files than this are there only to slow us down
_MOST_IGNORED = 20  # how many we report: one person may have thousands of user ids


class _Found(NamedTuple):
    """A lock of another user."""

    file: LockFile
    uid: int
    holds: bool  # it is not too old


class GpuLocks:
    """Held from the decision to start a job there until everybody can see its memory."""

    def __init__(self, database: str, find_folder: Callable[[], SharedFolder] = make_shared_folder) -> None:
        """`database`: names ours. Hosts that share a database agree without locks."""
        self._database = lock_file.word(database)
        self._find_folder = find_folder
        self._folder = SharedFolder("", "")
        self._held: dict[str, list[OwnLock]] = {}
        self._patience = LockPatience()
        self._waited_for: set[str] = set()  # files that have kept us off a GPU
        self.ignored: set[tuple[str, int]] = set()  # (GPU, user): kept us off it for too long

    @property
    def held(self) -> set[str]:
        return set(self._held)

    @property
    def fault(self) -> str:
        """Why we cannot use locks with other users; empty: we can."""
        return f"{self._folder.path} {self._folder.fault}" if self._folder.fault else ""

    def take(self, gpus: Iterable[str], mono: float, used_mb: Callable[[str], int] = lambda gpu: 0) -> dict[str, int]:
        """Lock those that nobody else has. Returns the others, each with the user who has it.

        `used_mb`: what others use of a GPU. If there is no folder for locks, we act as if there were no other users.
        """
        wanted = list(gpus)
        if not wanted:
            return {}
        self._folder = self._find_folder()
        new = [gpu for gpu in wanted if gpu not in self._held]
        if self._folder.fault:
            self._held.update((gpu, []) for gpu in new)
            return {}
        for gpu in new:
            self._lock(gpu, mono)
        self.restore()  # before we look: those who come after us must find it
        self._patience.look(mono)
        found = list(self._found(mono))
        self._waited_for &= {each.file.name for each in found}
        refused = {gpu: uid for gpu in wanted for uid in self._in_the_way(gpu, found, used_mb)}
        self.release(gpu for gpu in new if gpu in refused)
        return refused

    def reserve(self, gpus: Iterable[str], mono: float) -> None:
        """Memory of these GPUs, which we have locked, goes to a job: the age of their locks counts from now."""
        for gpu in gpus:
            if any(lock.since_mono < mono for lock in self._held.get(gpu, ())):
                self._lock(gpu, mono)  # beside the older one: a listing right now must show one of them

    def restore(self) -> None:
        """Somebody may have deleted files: create our missing locks again."""
        for gpu, locks in self._held.items():
            for lock in [lock for lock in locks if not lock_file.is_there(lock)]:
                locks.remove(lock)
                self._lock(gpu, lock.since_mono)

    def release(self, gpus: Iterable[str]) -> None:
        for gpu in list(gpus):
            for lock in self._held.pop(gpu, ()):
                lock_file.remove(lock.path)

    # -- our own ----------------------------------------------------------------------------------------------------

    def _lock(self, gpu: str, since_mono: float) -> None:
        locks = self._held.setdefault(gpu, [])
        try:
            locks.append(lock_file.make(self._folder.path, gpu, self._database, since_mono))
        except OSError as error:
            self._folder = self._folder._replace(fault=f"cannot be written ({error.strerror})")

    # -- those of others --------------------------------------------------------------------------------------------

    def _found(self, mono: float) -> Iterator[_Found]:
        """The locks of others. Removes old ones of our own user on the way."""
        for file in islice(self._listed(), _MOST_LOOKED_AT):
            path = os.path.join(self._folder.path, file.name)
            uid, holds = lock_file.owner_of(path), file.may_hold(mono, LONGEST_S)
            is_ours = uid == os.geteuid()
            if is_ours and not holds:
                lock_file.remove(path)
            elif uid is not None and not (is_ours and file.database == self._database):
                yield _Found(file, uid, holds)

    def _listed(self) -> Iterator[LockFile]:
        try:
            names = os.listdir(self._folder.path)
        except OSError as error:
            self._folder = self._folder._replace(fault=f"cannot be read ({error.strerror})")
            return
        for name in names:
            if name.startswith(lock_file.PREFIX) and (file := lock_file.read_name(name)) is not None:
                yield file

    def _in_the_way(self, gpu: str, found: Iterable[_Found], used_mb: Callable[[str], int]) -> Iterator[int]:
        """The users whose locks on this GPU we must wait for."""
        for each in found:
            if each.file.gpu != lock_file.word(gpu):
                continue
            if each.holds and not self._patience.is_over(gpu, each.uid, used_mb(gpu)):
                self._waited_for.add(each.file.name)
                yield each.uid
            elif (each.holds or each.file.name in self._waited_for) and len(self.ignored) < _MOST_IGNORED:
                self.ignored.add((gpu, each.uid))
