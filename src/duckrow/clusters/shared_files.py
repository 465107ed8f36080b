"""Files that several machines share: put into place whole, made by one of many, read or not there."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from typing import Any

# What a file system says that knows no links, or has no room for one more to the same file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS)


def put(path: str, value: Any, durable: bool = True) -> None:
    """Write this as JSON, all of it or nothing; what was there before is replaced.

    `durable`: it is with the file server before it has its name. Some servers keep a name whose content died with its
    client.
    """
    folder, _, name = path.rpartition("/")
    draft = f"{folder}/.{name}.{_us()}"
    with open(draft, "w", opener=_private) as file:
        json.dump(value, file)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.rename(draft, path)


def get(path: str) -> dict[str, Any] | None:
    """What was put there; None if nothing was, or the file is incomplete."""
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
    """Make this file, as a link to a card that says who we are; False if it is there already.

    A link either is made or not, on network file systems too. Its reply may get lost, and the call then be repeated by
    the system, and fail: so after a failure we check whose card is there.
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
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except FileNotFoundError:
        return []


def server_time(folder: str) -> float:
    """By the clock of the file server, so that clocks which differ do no harm."""
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
    """Whether there is no room for more, or for no more of ours."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def touch(*paths: str) -> str:
    """Set the time of the first of these that is there to now, which takes no room; it."""
    for path in paths[:-1]:
        try:
            os.utime(path)
            return path
        except FileNotFoundError:
            continue
    os.utime(paths[-1])
    return paths[-1]


def _us() -> str:
    """No other process or thread on any machine is called so."""
    return f"{socket.gethostname()}.{os.getpid()}.{threading.get_native_id()}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
