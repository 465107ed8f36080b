"""Commands that run without a shell, because the shell would only exec the program."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_BECOME = "exec "


def without_shell(words: Sequence[str]) -> str:
    """The command of these words, unchanged. Its PID and its exit status are those of the program."""
    return _BECOME + shlex.join(words) if words else ""


def words_without_shell(command: str) -> list[str] | None:
    """The reverse; None if the command needs a shell."""
    return shlex.split(command.removeprefix(_BECOME)) if command.startswith(_BECOME) else None
