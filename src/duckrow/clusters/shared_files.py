"""Files that several machines share. They appear complete or not at all, and only one process can create each."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from typing import Any

# Errors of a file system that has no links, or that allows no more links to the same file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS)


def put(path: str, value: Any, durable: bool = True) -> None:
    """Write this as JSON, completely or not at all, and replace what was there.

    `durable`: the content reaches the file server before the file gets its name. If the client dies, some servers keep
    the name and lose the content.
    """
    folder, _, name = path.rpartition("/")
    draft = f"{folder}/.{name}.{_us()}"
    with open(draft, "w", opener=_private) as file:
        file.write(json.dumps(value))  # json.dump takes ten times as long
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.rename(draft, path)


def get(path: str) -> dict[str, Any] | None:
    """What `put` wrote there; None if nothing, or if the file is incomplete."""
    try:
        with open(path) as file:
            value = json.load(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if error.errno == errno.ESTALE:  # NFS: it was replaced while we read
            return None
        raise
    return value if isinstance(value, dict) else None


def take(card: str, path: str) -> bool:
    """Create this file, as a link to a card that says who we are; False if it already exists.

    Creating a link is atomic, on network file systems too. But if the reply gets lost, the system repeats the call, and
    the second call fails. So after a failure we check whose card is there.
    """
    try:
        os.link(card, path)
        return True
    except FileExistsError:
        try:
            return os.path.samefile(card, path)
        except OSError:
            return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create(card, path)


def _create(card: str, path: str) -> bool:
    with open(card, "rb") as file:
        content = file.read()
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with open(fd, "wb") as file:
        file.write(content)
    return True


def names(folder: str) -> list[str]:
    """The names in a folder, without drafts."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return []


def server_time(folder: str) -> float:
    """The time on the file server: the clocks of the machines may differ."""
    path = f"{folder}/.now.{socket.gethostname()}.{os.getuid()}"
    try:
        with open(path, "w", opener=_private) as file:
            file.write("now")
    except OSError as error:
        if not is_full(error):
            raise
        path = touch(path, folder)
    return os.stat(path).st_mtime


def is_full(error: OSError) -> bool:
    """Whether the disk is full, or our quota."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def touch(*paths: str) -> str:
    """Set the time of the first of these that exists to now, which needs no space. Returns its path."""
    for path in paths[:-1]:
        try:
            os.utime(path)
            return path
        except FileNotFoundError:
            continue
    os.utime(paths[-1])
    return paths[-1]


def _us() -> str:
    """A name that no other process or thread has, on any machine."""
    return f"{socket.gethostname()}.{os.getpid()}.{threading.get_native_id()}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
