"""What the values of a job's options mean on this machine: a signal, a folder, a shell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import DEFAULT_NOTICE, DEFAULT_NOTICE_S, DEFAULT_NOTICE_SIGNAL, DEFAULT_SHELL
from duckrow.core.units import parse_duration_s

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.core.memory.recipe import JobRecipe


def parse_signal(name: str, examples: str) -> int:
    """`USR1`, `SIGUSR1`, `10`."""
    import signal  # most jobs are warned as usual

    word = name.upper().removeprefix("SIG")
    try:
        return signal.Signals(int(word)).value if word.isdecimal() else signal.Signals[f"SIG{word}"].value
    except (KeyError, ValueError):
        raise UsageError(f"'{name}' is not a signal. Write {examples}.") from None


def parse_notice(text: str) -> tuple[int | None, float]:
    """`USR2@30s`, `TERM@1m`, `@60`, `USR1`, `none`."""
    if text == DEFAULT_NOTICE:
        return DEFAULT_NOTICE_SIGNAL, DEFAULT_NOTICE_S
    if text.lower() == "none":
        return None, 0.0
    name, _, ahead = text.partition("@")
    number = parse_signal(name, "USR2@30s, TERM@1m or none") if name else DEFAULT_NOTICE_SIGNAL
    return number, parse_duration_s(ahead) if ahead else DEFAULT_NOTICE_S


def existing_folder(cwd: str | os.PathLike[str] | None) -> str:
    """The current folder, or the given one, which must exist."""
    path = os.path.abspath(cwd or os.getcwd())
    if cwd is not None and not os.path.isdir(path):
        raise UsageError(f"The folder {path} does not exist. Create it, or choose another.")
    return path


def folder_to_make(path: str) -> str:
    """This path. The folder is made when the job starts, so only folders may be there and above."""
    there = path
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise UsageError(f"The folder {path} cannot be created: {there} is not a folder. Choose another.")
    return path


def recipe_here(
    cwd: str,
    command: str,
    pattern: str | None = None,
    deciding: Iterable[str] = (),
    point: Mapping[str, Any] | None = None,
) -> JobRecipe:
    """Its recipe for memory. Links are followed, so that all paths of a script count as the same script."""
    from duckrow.core.memory.recipe import recipe_of  # most jobs request no memory

    return recipe_of(cwd, command, pattern, deciding, point, _real_path, _is_file)


def script_here(cwd: str, command: str) -> str | None:
    """The path of the Python script that a command runs, also as a module; None: it runs none."""
    from duckrow.core.memory.recipe import script_of

    script = script_of(cwd, command, _is_file)
    return None if script is None else _real_path(script)


def _real_path(path: str) -> str:
    return os.path.realpath(_from_home(path))


def _is_file(path: str) -> bool:
    return os.path.isfile(_from_home(path))


def _from_home(path: str) -> str:
    """As the shell of the job will read it."""
    return os.path.expanduser(os.path.expandvars(path)) if path[:1] in ("~", "$") else path


def find_shell(shell: str) -> str:
    """A shell may be named without its folder. It must exist."""
    if shell == DEFAULT_SHELL:
        return shell
    if "/" in shell:
        path = os.path.abspath(shell)
        found = path if os.path.isfile(path) and os.access(path, os.X_OK) else None
    else:
        import shutil

        found = shutil.which(shell)
    if found is None:
        raise UsageError(f"There is no shell '{shell}' here. Write its path, such as /bin/bash.")
    return found


_FOUND_HERE = {"cwd": existing_folder, "shell": find_shell}


def found_here(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a job by name, as they are, but a folder and a shell must exist."""
    return {key: _FOUND_HERE[key](value) if key in _FOUND_HERE else value for key, value in values.items()}
