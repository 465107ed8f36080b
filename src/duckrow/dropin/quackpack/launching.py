"""One command, launched here and now; and commands as they are launched in an attempt."""

from __future__ import annotations

import os
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from duckrow.api.call import PROTOCOL, private
from duckrow.api.interpreter import module_command
from duckrow.core.errors import UsageError

ApplyFunction = Callable[[str, dict[str, str]], str]

_ATTEMPT = "duckrow.dropin.quackpack.attempt"


def launch_cmd(
    command: str,
    env_command: str | None = None,
    capture_output: bool = True,
    capture_errors: bool = True,
    use_async: bool = False,
    command_apply_functions: Sequence[ApplyFunction] | None = None,
) -> Any:
    """Run a command through the shell, with `env_command` (NAME=value) in its environment.

    A CompletedProcess, with `use_async` a Popen; None, with a line that says why, if it could not be launched.
    """
    start: Any = subprocess.Popen if use_async else subprocess.run
    try:
        env = dict(os.environ)
        if env_command:
            name, _, value = env_command.strip().partition("=")
            env[name] = value
        for function in command_apply_functions or ():
            command = function(command, env)
        return start(
            command,
            shell=True,
            stdout=subprocess.PIPE if capture_output else subprocess.DEVNULL,
            stderr=subprocess.PIPE if capture_errors else subprocess.DEVNULL,
            text=True,
            env=env,
        )
    except Exception as error:  # of somebody's apply function; callers of old look for None
        print(f"Command {command} failed with: {error}")
        return None


def store_functions(functions: Sequence[ApplyFunction], path: str) -> None:
    import cloudpickle

    with open(path, "wb", opener=private) as file:
        pickle.dump([os.path.abspath(place) for place in sys.path], file, protocol=PROTOCOL)
        try:
            cloudpickle.dump(list(functions), file, protocol=PROTOCOL)
        except Exception as error:  # whatever a foreign object does while it is pickled
            raise UsageError(
                f"The apply functions cannot be pickled, so no job could call them: {error}. Nothing was started."
            ) from error


def command_in_attempt(path: str, shell: str, cmd: str) -> str:
    """What lets the stored functions change the command, and then becomes it."""
    return f"exec {shlex.join(module_command(_ATTEMPT, path, shell, cmd))}"
