"""The words after `--` as one command for a shell."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.errors import UsageError


def command_of(words: Sequence[str]) -> str:
    """One word is shell text as it is (`'a | b'`); several are a program and its arguments, kept apart."""
    if not words:
        raise UsageError("There is no command after --. Write: -- python train.py")
    if len(words) == 1:
        return words[0]
    import shlex

    return shlex.join(words)
