"""Executes the script that defines a function or class again in the process of each run.

Such a function cannot be imported there, and its pickle would contain copies of the script's values: the same random
generator, the same id in all runs. So the script is executed, up to the place where it would start the runs. Its text
is sent along: later edits are meant for the next runs.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, ModuleType

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

    Script = tuple[str, str, list[str], bytes]  # its path, its name if it is `python -m NAME`, sys.argv, and its text


class _Reached(BaseException):
    """The script has reached the place where it starts the runs."""


_wanted = ""  # the name in the script that this process needs, while it executes the script
_replaced: list[ModuleType] = []  # the earlier __main__ must not be garbage collected
_compiled: dict[bytes, CodeType] = {}


def script_of(thing: Any) -> Script | None:
    """The script, if it defines this name at its top level and can be executed again; None in a notebook."""
    main: Any = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    if getattr(thing, "__module__", None) != "__main__" or not hasattr(main, getattr(thing, "__qualname__", "")):
        return None
    if not path or not os.path.isfile(path) or _is_notebook():
        return None
    spec = getattr(main, "__spec__", None)
    name = "" if spec is None or spec.name == "__main__" else spec.name  # "__main__": of a folder or zip file
    with open(path, "rb") as file:
        return os.path.abspath(path), name, _argv(path, name), file.read()


def _is_notebook() -> bool:
    return hasattr(sys, "ps1") or ("IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None)


def _argv(path: str, name: str) -> list[str]:
    """sys.argv as it was at the start; the script may have changed it since."""
    typed = sys.orig_argv
    for at in range(1, len(typed)):
        if os.path.basename(typed[at]) == os.path.basename(path):
            return typed[at:]
        if typed[at] == "-m" and name and typed[at + 1 : at + 2] in ([name], [name.removesuffix(".__main__")]):
            return [path, *typed[at + 2 :]]
    return list(sys.argv)


def execute(script: Script, name: str) -> Any:
    """Make the script `__main__` of this process; it is executed at least until it defines this name."""
    global _wanted
    path, spec_name, sys.argv, _ = script
    module = ModuleType("__main__")
    module.__file__ = path
    if spec_name:
        from importlib.util import find_spec

        module.__spec__ = find_spec(spec_name)
        module.__package__ = module.__spec__.parent if module.__spec__ else ""
    _replaced.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    _wanted = name
    try:
        exec(code_of(script), module.__dict__)
    except _Reached:
        pass
    finally:
        _wanted = ""
    return module


def executes_script() -> bool:
    """Whether this process is a run that still executes the script to get what it needs. It starts no other runs."""
    return bool(_wanted)


def stop_if_there() -> None:
    """Called where runs are started: a run stops here once it has what it needs."""
    if _wanted and hasattr(sys.modules["__main__"], _wanted):
        raise _Reached


def code_of(script: Script) -> CodeType:
    """Compile, but do not execute: a process that compiles ahead shares the code with its forks."""
    path, _, _, text = script
    if text not in _compiled:
        _compiled[text] = compile(text, path, "exec", dont_inherit=True)
    return _compiled[text]
