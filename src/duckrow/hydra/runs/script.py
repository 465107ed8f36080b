"""A function defined in a script: each run executes the script, up to the call that started the multirun."""

from __future__ import annotations

import functools
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from hydra.types import TaskFunction

if TYPE_CHECKING:
    from duckrow.api.calls.script_again import Script

_CALLED = "_run_hydra"  # in hydra.main; every function that it decorates calls this
_PARSER = "get_args_parser"  # and before it this


def script_of_function(function: TaskFunction) -> Script | None:
    """None: it is in a module, or its script cannot be executed again and the function must be pickled."""
    from duckrow.api.calls.script_again import script_of

    return script_of(function) if hasattr(import_module("hydra.main"), _CALLED) else None


class _KnownArguments:
    """Hydra's parser, which remembers what it has parsed: all runs have the arguments of the multirun."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self._parsed: dict[tuple[str, ...], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def parse_args(self) -> Any:
        """Nobody changes what it returns: hydra.main looks at it and gives it to `_run_hydra`, which we replace."""
        typed = tuple(sys.argv[1:])
        if typed not in self._parsed:
            self._parsed[typed] = self._parser.parse_args()
        return self._parsed[typed]


@functools.cache
def args_parser() -> Any:
    """Hydra's own, which takes as long to make as to execute a script; a preloaded parent makes it for all its runs."""
    return _KnownArguments(import_module("hydra._internal.utils").get_args_parser())


def parse_ahead(script: Script) -> None:
    """For a process that forks runs of this script."""
    before, sys.argv = sys.argv, script[2]
    try:
        args_parser().parse_args()
    except SystemExit:
        pass  # not Hydra's: the script changes them before it calls Hydra
    finally:
        sys.argv = before


def function_in(script: Script, name: str) -> TaskFunction:
    """Execute the script, and return its function of this name."""
    from duckrow.api.calls.script_again import execute, stop_if_there

    reached: list[TaskFunction] = []

    def instead(*_: Any, task_function: TaskFunction, **__: Any) -> None:
        if task_function.__qualname__ == name:
            reached.append(task_function)
            stop_if_there()

    hydra_main = import_module("hydra.main")
    ours = {_CALLED: instead, _PARSER: args_parser}
    usual = {each: getattr(hydra_main, each) for each in ours if hasattr(hydra_main, each)}
    vars(hydra_main).update((each, ours[each]) for each in usual)
    try:
        found = getattr(execute(script, name), name)
    finally:
        vars(hydra_main).update(usual)
    if reached:
        return reached[0]
    is_decorated = getattr(found, "__globals__", {}).get("__name__") == "hydra.main"
    return cast("TaskFunction", found.__wrapped__ if is_decorated else found)
