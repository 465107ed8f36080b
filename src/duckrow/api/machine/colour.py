"""Whether to draw in colour, as the settings say; quick to load, since every verb asks."""

from __future__ import annotations

import os

from duckrow.api.machine.settings_files import PREFIX, bytes_of, project_file, user_file
from duckrow.core.errors import UsageError


def colour() -> str:
    """`ui.color`. Nothing is parsed where nothing can say it; a mistake is for other verbs to tell."""
    try:
        places = (user_file(), project_file())
        said = f"{PREFIX}UI__COLOR" in os.environ or any(b"color" in bytes_of(path) for path in places if path)
        if not said:
            return "auto"
        from duckrow.api.machine.settings import Settings  # it takes long to load

        return str(Settings()["ui.color"])
    except UsageError:
        return "auto"
