"""Commands that mean the same without a shell: plain words, of which the first names a program.

A shell that is given such a command replaces itself by that program. To start the program at once saves the start of
the shell, which takes as long as the whole of a short job.
"""

from __future__ import annotations

from collections.abc import Container

SHELLS = ("sh", "dash", "bash")
"""Others read files of their user first, as zsh does."""

# No quotes, no variables, no patterns, no redirections. `=` makes the first word an assignment.
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,- \t"
# What these shells do themselves. Programs with such names may do something else, or do not exist. `true` and `false`
# are the same program and builtin.
_OWN_WORDS = frozenset(
    (
        ". : [ alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc "
        "declare dirs disown do done echo elif else enable esac eval exec exit export fc fg fi for function "
        "getopts hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray "
        "readonly return select set shift shopt source suspend test then time times trap type typeset ulimit umask "
        "unalias unset until wait while"
    ).split()
)
# They change what the shell does before it comes to the command.
_STARTUP_VARIABLES = (b"BASH_ENV", b"SHELLOPTS", b"BASHOPTS")


def plain_words(command: str, shell: str, variables: Container[bytes]) -> list[str] | None:
    """The words of a command that needs no shell. None: it does, or may."""
    if shell.rpartition("/")[2] not in SHELLS or command.encode("utf-8", "replace").translate(None, _PLAIN):
        return None
    words = command.split()
    if not words or words[0] in _OWN_WORDS or "=" in words[0] or words[0][0] in "-%":
        return None
    changed = any(name in variables for name in (*_STARTUP_VARIABLES, b"BASH_FUNC_%s%%%%" % words[0].encode()))
    return None if changed else words
