"""Launches one command here and now; and makes the commands for attempts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from duckrow.api.adding.program_words import without_shell
from duckrow.api.calls.interpreter import module_command
from duckrow.dropin.quackpack.apply_calls import ApplyFunction
from duckrow.dropin.quackpack.command_words import join_words, split_words

_ATTEMPT = "duckrow.dropin.quackpack.attempt"


def launch_cmd(
    command: str | Sequence[str],
    env_command: str | None = None,
    capture_output: bool = True,
    capture_errors: bool = True,
    use_async: bool = False,
    command_apply_functions: Sequence[ApplyFunction] | None = None,
) -> Any:
    """Run a command, or a list of its words, with `env_command` (NAME=value) in its environment.

    A CompletedProcess, with `use_async` a Popen; None, with a line that says why, if it could not be launched.
    """
    start: Any = subprocess.Popen if use_async else subprocess.run
    try:
        env = dict(os.environ)
        if env_command:
            name, _, value = env_command.strip().partition("=")
            env[name] = value
        if command_apply_functions:
            command = command if isinstance(command, str) else join_words(command)
            for function in command_apply_functions:
                command = function(command, env)
        return start(
            split_words(command) if isinstance(command, str) else list(command),
            stdout=subprocess.PIPE if capture_output else subprocess.DEVNULL,
            stderr=subprocess.PIPE if capture_errors else subprocess.DEVNULL,
            text=True,
            env=env,
        )
    except Exception as error:  # no such program, or an apply function failed; existing callers expect None
        print(f"Command {command} failed with: {error}")
        return None


def command_in_attempt(folder: str, cmd: str) -> str:
    """A command that gets the real command from the apply functions, then replaces itself by it."""
    return without_shell(module_command(_ATTEMPT, folder, cmd))


def command_without_shell(cmd: str) -> str:
    """A command that replaces itself by the program, with its words unchanged."""
    return without_shell(split_words(cmd))
