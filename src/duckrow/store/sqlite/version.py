"""The SQLite that comes with Python: its version, and whether it is new enough."""

from __future__ import annotations

import sqlite3
import sys

LEAST_SQLITE = "3.24.0"
"""The first with `INSERT ... ON CONFLICT ... DO UPDATE`. Clusters have old ones, so a newer feature needs a reason."""

SQLITE_VERSION = sqlite3.sqlite_version
INSTEAD = "Install duckrow with another Python (from conda, for example), or: uv tool install --managed-python duckrow"


def is_new_enough(version: str) -> bool:
    return _numbers(version) >= _numbers(LEAST_SQLITE)


def refusal(version: str) -> str:
    return f"This Python ({sys.executable}) has SQLite {version}; duckrow needs {LEAST_SQLITE} or newer. {INSTEAD}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
