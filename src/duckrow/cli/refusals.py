"""Errors of the operating system as messages: output that cannot be written, a folder that is gone."""

from __future__ import annotations

import errno
import os
import sys

_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_ADDING = ("submit", "add", "sweep")


def end_line() -> None:
    """A terminal shows ^C: what comes next begins a line."""
    if sys.stderr.isatty():
        say("")


def say(message: str) -> None:
    """A message for a person. If nobody can read it, the exit code stays the same."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        pass


def open_missing_streams() -> None:
    """With `>&-` there is no standard output. Writing to it must fail, and no file may get its number."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
            setattr(sys, name, open(fd, "w", closefd=False))  # noqa: SIM115 - it stays open until we end


def refused_by_machine(error: OSError, verb: str) -> str:
    why = error.strerror or str(error)
    if _is_here_gone():
        return "The folder that you are in was removed. Change to another one first: cd"
    if error.filename is None and error.errno in _OF_OUTPUT:
        hint = " What was added is still in the queue: `duckrow ls` shows it." if verb in _ADDING else ""
        return f"Cannot write the output: {why}.{hint}"
    return f"{why}: {os.fsdecode(error.filename)}." if error.filename else f"The operating system refused: {why}."


def _is_here_gone() -> bool:
    try:
        os.getcwd()
        return False
    except OSError:
        return True
