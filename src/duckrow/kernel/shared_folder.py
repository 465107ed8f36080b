"""A folder where all users of the machine leave files, and nobody can touch those of another."""

from __future__ import annotations

import functools
import os
import stat

from duckrow.core.named_tuple import NamedTuple
from duckrow.kernel.process import user_name

VARIABLE = "DUCKROW_GPU_LOCKS"

# Both belong to root and are sticky on every Linux. The first is small, empty after a boot, and nobody tidies it up.
_CANDIDATES = ("/dev/shm", "/tmp")


class SharedFolder(NamedTuple):
    path: str
    fault: str  # why it cannot be used; empty: it can


_name = functools.lru_cache(user_name)  # looked up again and again, and names may come over the network


def shared_folder() -> SharedFolder:
    """The one that DUCKROW_GPU_LOCKS names, or the first that can be used; if none can, the first, with its fault."""
    paths = [os.environ[VARIABLE]] if os.environ.get(VARIABLE) else _CANDIDATES
    found = [SharedFolder(path, fault_of(path)) for path in paths]
    return next((folder for folder in found if not folder.fault), found[0])


def make_shared_folder() -> SharedFolder:
    """The same, but creates the folder that DUCKROW_GPU_LOCKS names if it does not exist."""
    named = os.environ.get(VARIABLE)
    if named:
        try:
            os.mkdir(named)
            os.chmod(named, 0o1777)
        except OSError:
            pass  # it exists, or its fault will be reported
    return shared_folder()


def fault_of(path: str) -> str:
    """Why it must not be shared with others, as words that follow its name; empty: it may be."""
    try:
        status = os.lstat(path)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return "is a symbolic link" if stat.S_ISLNK(status.st_mode) else "is not a folder"
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_name(status.st_uid)}, who could remove what others leave there"
    if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        return "has no sticky bit, so everybody could remove what others leave there"
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        return "cannot be written"
    return ""
