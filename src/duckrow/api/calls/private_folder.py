"""Folders that no other user may read, whoever created them."""

from __future__ import annotations

import os
import stat

from duckrow.core.errors import DuckrowError


def private_folder(path: str) -> str:
    """This folder with mode 0700, created if needed; its parent must exist."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise DuckrowError(f"The folder {path} cannot be created: {error.strerror}.") from None
    found = os.lstat(path)  # a link may lead to a folder that others can read
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise DuckrowError(f"{path} is not your folder. Remove it: duckrow keeps secrets there.")
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.chmod(path, 0o700)
    return path
