"""Opens the user's editor."""

from __future__ import annotations

import os

from duckrow.core.errors import UsageError


def edit_in_editor(text: str) -> str:
    """Let the user edit this text in $VISUAL or $EDITOR; the result."""
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w+", suffix=".toml", prefix="duckrow-", delete=False) as file:
        file.write(text)
    try:
        code = subprocess.call(f'{editor} "{file.name}"', shell=True)
        if code != 0:
            raise UsageError(f"The editor ({editor}) ended with {code}; nothing was changed.")
        with open(file.name) as edited:
            return edited.read()
    finally:
        os.unlink(file.name)
