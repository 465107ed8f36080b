"""The files that may have settings, and whether to read them; quick to load, because every verb asks."""

from __future__ import annotations

import os

from duckrow.core.errors import UsageError

PREFIX = "DUCKROW__"


def user_file() -> str:
    """Where the user's settings are, or would be."""
    named = os.environ.get("DUCKROW_CONFIG")
    if named:
        return os.path.abspath(named)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.abspath(f"{base}/duckrow/config.toml")


def project_file() -> str | None:
    """The nearest pyproject.toml, in this folder or above; not one that another user left in a shared folder."""
    try:
        folder = os.getcwd()
    except OSError:
        return None
    while True:
        path = os.path.join(folder, "pyproject.toml")
        try:
            owner, is_common = os.stat(path).st_uid, os.stat(folder).st_mode & 0o002
            return path if owner in (0, os.getuid()) or not is_common else None
        except OSError:
            pass
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def bytes_of(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"The settings in {path} cannot be read: {error.strerror}.") from None
