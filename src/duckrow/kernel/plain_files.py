"""Opens files that a job may have replaced with anything: a pipe that nobody writes to, a device without an end."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import IO


def open_plain(path: str, follow: bool = True) -> IO[bytes]:
    """A plain file to read from; anything else raises OSError at once. `follow`: accept links to one."""
    link = 0 if follow else os.O_NOFOLLOW
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | link)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file", path)
    return open(fd, "rb")
