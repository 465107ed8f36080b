"""Where preloaded parents keep compiled modules if Python must not write them beside their sources.

Many containers set PYTHONDONTWRITEBYTECODE. Then every process compiles all that it imports, which takes longer than
the imports themselves. This is a cache: whoever removes it loses nothing but time.
"""

from __future__ import annotations

import os
import stat

from duckrow.store.folder.state_folder import NETWORK_FILE_SYSTEMS, file_system_of


def bytecode_folder() -> str | None:
    """Made if it does not exist. None: there is no place for it that is local and that only we can write."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    ours = f"{named if os.path.isabs(named) else os.path.expanduser('~/.cache')}/duckrow"
    if file_system_of(ours) in NETWORK_FILE_SYSTEMS:
        return None
    try:
        os.makedirs(f"{ours}/bytecode", mode=0o700, exist_ok=True)
        is_ours = all(map(_is_private, (ours, f"{ours}/bytecode")))
    except OSError:
        return None
    return f"{ours}/bytecode" if is_ours else None


def _is_private(folder: str) -> bool:
    """What is in it is executed, so nobody else may put anything there."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
