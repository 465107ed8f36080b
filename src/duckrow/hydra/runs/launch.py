"""What all runs of a multirun share, in one file: the function, the config, and Hydra's global state."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig
from omegaconf.basecontainer import BaseContainer

from duckrow.api.calls.old_names import Unpickler
from duckrow.hydra.resources import Resources
from duckrow.hydra.runs.failures import Failures
from duckrow.hydra.runs.script import function_in, parse_ahead, script_of_function

if TYPE_CHECKING:
    from duckrow.api.calls.script_again import Script

VARIABLE = "DUCKROW_HYDRA_LAUNCH"
"""Tells a preloaded parent which file its runs will need."""


@dataclass
class Launch:
    config: DictConfig
    hydra_context: HydraContext
    resources: Resources
    verbose: bool
    sample: list[str]  # the overrides of one run
    failures: Failures | None = None  # if the runs themselves have to count them


@dataclass
class _Head:
    """How a run finds the function. It is read first, and loads nothing of the project."""

    path: list[str]  # sys.path: what follows may name modules that only the script knows how to find
    home: str  # where the function is defined: the name of a module, or the path of a script
    script: Script | None  # which each run executes, if it defines the function
    function: bytes  # its name in the script, or else its pickle


_Resolvers = dict[str, Any]  # by name

# By file, in a process forked from one that has read it: with the resolvers that Hydra has in each run.
_shared: dict[str, tuple[Launch, Any, _Resolvers]] = {}


def save_launch(launch: Launch, function: TaskFunction, path: str) -> None:
    import cloudpickle

    from duckrow.api.calls.pickled_by_name import ByName

    script = script_of_function(function)
    module = getattr(function, "__module__", None) or "__main__"
    home = (script[1] or script[0]) if script else module if module != "__main__" else ""
    carried = pickle.dumps(function.__qualname__) if script else cloudpickle.dumps(function)
    head = _Head([os.path.abspath(place) for place in sys.path], home, script, carried)
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        pickle.dump(head, file)
        (ByName if script else cloudpickle.Pickler)(file).dump((launch, Singleton.get_state()))


def load_launch(path: str) -> tuple[Launch, TaskFunction]:
    """What a run needs. The function is loaded first: its modules may register resolvers, as in any process."""
    with open(path, "rb") as file:
        head = _read_head(file)
        function = pickle.loads(head.function)
        if head.script is not None:
            function = function_in(head.script, function)
        own = dict(BaseContainer._resolvers)
        launch, state, of_hydra = _shared.get(path) or (*_read(file), _resolvers_of_hydra())
    Singleton.set_state(state)
    BaseContainer._resolvers.update({**own, **of_hydra})
    return launch, function


def home_of(path: str) -> str:
    """Where the function is defined: the name of a module, or the path of a script, which is compiled in advance."""
    with open(path, "rb") as file:
        head = _read_head(file)
    if head.script is not None:
        from duckrow.api.calls.script_again import code_of

        code_of(head.script)
    return head.home


@contextmanager
def shared_launch(path: str) -> Iterator[Launch]:
    """For a process that forks runs. Afterwards Hydra is as before: a run starts with only what it imports."""
    with open(path, "rb") as file:
        head = _read_head(file)
        launch, state = _read(file)
    if head.script is not None:
        parse_ahead(head.script)
    instances, resolvers = Singleton._instances, BaseContainer._resolvers
    Singleton.set_state(state)
    of_hydra = _resolvers_of_hydra()
    BaseContainer._resolvers.update(of_hydra)
    _shared[path] = launch, state, of_hydra
    try:
        yield launch
    finally:
        Singleton._instances, BaseContainer._resolvers = instances, resolvers


def _resolvers_of_hydra() -> _Resolvers:
    """What `setup_globals` registers. It looks at the signature of each, so forked runs take those of their parent."""
    before, BaseContainer._resolvers = BaseContainer._resolvers, {}
    try:
        setup_globals()
        return BaseContainer._resolvers
    finally:
        BaseContainer._resolvers = before


def _read_head(file: IO[bytes]) -> _Head:
    head: _Head = Unpickler(file).load()
    sys.path[:] = head.path
    return head


def _read(file: IO[bytes]) -> tuple[Launch, Any]:
    plugins = Plugins.instance()
    launch, state = Unpickler(file).load()
    # Searching for plugins executes their modules. A second search would define their classes again, and the config
    # would still have the old ones.
    state["instances"][Plugins] = plugins
    return launch, state
