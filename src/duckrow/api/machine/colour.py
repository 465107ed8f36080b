"""Whether the settings want colour; quick to load, because every verb asks."""

from __future__ import annotations

import os

from duckrow.api.machine.settings_files import PREFIX, bytes_of, project_file, user_file
from duckrow.core.errors import UsageError


def colour() -> str:
    """`ui.color`. No file is parsed unless it may contain it. Other verbs report mistakes."""
    try:
        places = (user_file(), project_file())
        said = f"{PREFIX}UI__COLOR" in os.environ or any(b"color" in bytes_of(path) for path in places if path)
        if not said:
            return "auto"
        from duckrow.api.machine.settings import Settings  # slow to load

        return str(Settings()["ui.color"])
    except UsageError:
        return "auto"
