"""The runs of a multirun as duckrow jobs: the call that each makes, and its point in the sweep."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.utils import filter_overrides

from duckrow.hydra.multirun import HydraRun
from duckrow.hydra.runs.run import run_one

if TYPE_CHECKING:
    from duckrow.api.adding.options import Request
    from duckrow.core.jobs.job import JobSpec

_WARM = "duckrow.hydra.runs.preload"


def with_warm_start(options: Mapping[str, Any], modules: Sequence[str], warm: bool) -> dict[str, Any]:
    """`modules`: imported before anything else, besides those of the script."""
    return {**options, "preload": [*modules, _WARM] if warm else None}


def jobs_of(
    runs: Sequence[HydraRun], request: Request, launch_file: str, sweep_id: int, function: Callable[..., Any]
) -> list[JobSpec]:
    from duckrow.api.adding.options import with_recipe
    from duckrow.api.calls.functions import Call, pattern_of, store_call, warm_modules
    from duckrow.api.calls.words import call_words
    from duckrow.core.jobs.job import PointOfSweep
    from duckrow.core.sweeps.point_names import point_name

    specs, app = [], app_of(function)
    for run in runs:
        point = parameters_of(run.overrides)
        words = f"{app}.{call_words(function, (), point)}"
        call = Call(run_one, (launch_file, run.number, run.overrides, run.subdir), {}, f"run {run.number}", words=words)
        spec = request.spec(command=store_call(call, run.folder), name=point_name(point), folder=run.folder)
        spec.preload = warm_modules(spec.preload)
        spec.point = PointOfSweep(sweep_id, run.key, json.dumps({**point}))
        specs.append(with_recipe(spec, pattern_of(function), point))
    return specs


def app_of(function: Callable[..., Any]) -> str:
    """The name of the script or module: in most applications the function is called `main`, which tells nobody much."""
    module = function.__module__
    if module != "__main__":
        return module.rpartition(".")[2]
    path = getattr(sys.modules[module], "__file__", None) or "notebook"
    return os.path.basename(path).removesuffix(".py")


def parameters_of(overrides: Sequence[str]) -> dict[str, Any]:
    """`+model.lr=0.1` is the parameter `model.lr`; a deletion (`~x`) keeps its `~`."""
    from duckrow.core.sweeps.points import plain_value

    point = {}
    for override in filter_overrides(overrides):
        name, _, value = override.partition("=")
        point[name.lstrip("+")] = plain_value(value)
    return point
