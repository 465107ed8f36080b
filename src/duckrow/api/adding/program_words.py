"""Commands that run without a shell, because the shell would only exec the program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_BECOME = "exec "


def without_shell(words: Sequence[str]) -> str:
    """The command: no word is changed, and its PID and the way it ends are the program's own."""
    return _BECOME + shlex.join(words) if words else ""


def words_without_shell(command: str) -> list[str] | None:
    """The other way round; None if the command is one for a shell."""
    return shlex.split(command.removeprefix(_BECOME)) if command.startswith(_BECOME) else None
