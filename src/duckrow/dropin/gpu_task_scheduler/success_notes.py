"""The file in a task's folder that says which tasks have succeeded there, and with which configurations.

Several scripts may work in one folder, such as one that trains and one that evaluates. Each has its own note there,
under the name of its class, and removes no other.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Note = dict[str, str]
"""A configuration, as text."""

SUCCESS = ".duckrow-succeeded"
SOMEBODY = ""
"""The name used if the file does not say who succeeded, for example one created with `touch`."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # compiled once, not in each of a thousand forked tasks


def note_of(config: Mapping[str, Any]) -> Note:
    """What distinguishes one configuration from another; the address of an object does not."""
    return {str(name): _without_address(repr(config[name])) for name in config}


def _without_address(text: str) -> str:
    return _ADDRESS.sub("", text) if " at 0x" in text else text


def successes_in(folder: str) -> dict[str, Note]:
    """Who has succeeded in this folder -> with which configuration, empty if unknown."""
    path = f"{folder}/{SUCCESS}"
    if not os.access(path, os.F_OK):  # the usual case
        return {}
    try:
        with open(path) as file:
            text = file.read()
    except OSError:
        return {}
    try:
        noted = json.loads(text or "{}")
    except ValueError:
        noted = {}
    if isinstance(noted, dict) and noted and all(isinstance(note, dict) for note in noted.values()):
        return noted
    return {SOMEBODY: {}}


def add_success(folder: str, who: str, note: Note) -> None:
    _write(folder, {**successes_in(folder), who: note})


def forget_success(folder: str, who: str) -> None:
    """Remove only the note of this task: those of others in the same folder stay valid."""
    noted = successes_in(folder)
    if noted.pop(who, None) is None:
        return
    if noted:
        _write(folder, noted)
    else:
        os.unlink(f"{folder}/{SUCCESS}")


def _write(folder: str, noted: dict[str, Note]) -> None:
    """Write all or nothing, even if we are killed. Without `open`, which would create three objects."""
    path = f"{folder}/{SUCCESS}"
    fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    left = json.dumps(noted).encode()
    while left:
        left = left[os.write(fd, left) :]
    os.close(fd)
    os.replace(f"{path}.new", path)
