"""Whose a process is, as far as /proc tells everybody."""

from __future__ import annotations

import os
import pwd


def user_of(pid: int) -> str | None:
    """Its owner's name; None: it is not to be seen from here (gone, or outside this container)."""
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def program_of(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return os.fsdecode(file.read().strip())
    except OSError:
        return None
