"""Commands that are too long for an argument become a file that their shell reads."""

from __future__ import annotations

import os


def write_script(folder: str, command: str) -> str:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "command.sh")
    with open(path, "wb") as file:
        file.write(os.fsencode(command) + b"\n")
    return path
