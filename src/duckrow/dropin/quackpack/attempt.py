"""What runs first in the attempt of a job that has apply functions: they change its command, then it becomes that."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable


def main(path: str, shell: str, cmd: str) -> int:
    env = dict(os.environ)
    name = "reading them"
    try:
        with open(path, "rb") as file:
            sys.path[:] = pickle.load(file)  # first: what follows may name modules that only the caller could find
            functions: list[Callable[[str, dict[str, str]], str]] = pickle.load(file)
        for function in functions:
            name = getattr(function, "__name__", repr(function))
            cmd = _checked(function(cmd, env))
    except BaseException as error:  # an exit, too, is no command
        # Without our own frame.
        traceback.print_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        print(f"The apply functions failed ({name}), so this job's command was not run.", file=sys.stderr, flush=True)
        return 1
    return _become(shell, cmd, env)


def _checked(cmd: object) -> str:
    if not isinstance(cmd, str):
        raise TypeError(f"an apply function returns the command, not {cmd!r}")
    return cmd


def _become(shell: str, cmd: str, env: dict[str, str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and no command expects to be
        signal.signal(number, signal.SIG_DFL)
    return os.execve(shell, [shell, "-c", cmd], env)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
