"""The versions that matter in a bug report."""

from __future__ import annotations

import os
import re
import sys

from duckrow import __version__

_DRIVER = "/proc/driver/nvidia/version"


def versions() -> dict[str, str]:
    """Name -> version, or a note such as "not installed"."""
    import platform

    from duckrow.store.sqlite.version import SQLITE_VERSION

    system = os.uname()
    return {
        "duckrow": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{system.sysname} {system.release} {system.machine}",
        "sqlite": SQLITE_VERSION,
        **{name: _package(name) for name in ("click", "rich", "nvidia-ml-py")},
        "nvidia driver": nvidia_driver() or "none",
    }


def _package(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def nvidia_driver(path: str = _DRIVER) -> str | None:
    """The version of the kernel driver, if there is one."""
    try:
        with open(path) as file:
            first = file.readline()
    except OSError:
        return None
    found = re.search(r"\b\d+(\.\d+)+\b", first)
    return found[0] if found else "of unknown version"
