"""What all runs of a multirun share, in one file: the function, the config, and the state of Hydra around them."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass

from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from hydra_plugins.duckrow_launcher._failures import Failures
from hydra_plugins.duckrow_launcher._resources import Resources

VARIABLE = "DUCKROW_HYDRA_LAUNCH"
"""Tells a warm process which file its runs will need."""


@dataclass
class Launch:
    config: DictConfig
    hydra_context: HydraContext
    task_function: TaskFunction
    resources: Resources
    verbose: bool
    sample: list[str]  # the overrides of one run
    failures: Failures | None = None  # if the runs themselves have to count them


_loaded: dict[str, Launch] = {}


def save_launch(launch: Launch, path: str) -> None:
    """Where modules are found stands first: what follows may name some that only the script knows how to find."""
    import cloudpickle

    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        pickle.dump([os.path.abspath(place) for place in sys.path], file)
        cloudpickle.dump((launch, Singleton.get_state()), file)


def load_launch(path: str) -> Launch:
    """Once in a process: a run that was forked from a warm process finds it there."""
    if path not in _loaded:
        with open(path, "rb") as file:
            sys.path[:] = pickle.load(file)
            plugins = Plugins.instance()
            launch, state = pickle.load(file)
        # To look for plugins executes their modules, so it must not be done twice: the config would have classes that
        # are not those of their modules any more.
        state["instances"][Plugins] = plugins
        Singleton.set_state(state)
        setup_globals()
        _loaded[path] = launch
    return _loaded[path]
