"""Translates the keys of `hydra.launcher` into duckrow's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckrow.hydra.errors import LauncherError

_OPTIONS = ("gpus", "gpu_mem", "total_gpu_mem", "cpus", "mem", "retries", "timeout", "project", "env", "priority")
_DIVIDED = {"cpu": ("cpus",), "cuda": ("gpus",), "stagger": ("delay",)}


@dataclass(frozen=True)
class Divided:
    """resources_config: what simultaneous runs divide among themselves."""

    cores: list[int] | None = None  # empty: all cores; None: not divided
    gpus: list[str] | None = None  # the same
    delay_s: float = 0.0


@dataclass(frozen=True)
class LaunchOptions:
    options: dict[str, Any]  # of each run, as in duckrow.submit
    name: str
    wait: bool
    resume: bool
    max_failures: int | None
    preload: list[str]
    warm: bool
    verbose: bool
    divided: Divided
    parallel: int | None = None  # runs at a time, on one machine
    jobs_per_gpu: int | None = None
    others: dict[str, Any] = field(default_factory=dict)  # for the place where the runs go


def wanted_of(values: Mapping[str, Any], others: Sequence[str] = ()) -> LaunchOptions:
    """`others`: the keys that concern only the place where the runs go."""
    return LaunchOptions(
        options={key: values[key] for key in _OPTIONS if values.get(key) not in (None, {})},
        name=values["name"],
        wait=values["wait_for_completion"],
        resume=values["resume"],
        max_failures=_at_least_one("max_failures", values["max_failures"]),
        preload=values["preload"],
        warm=values["warm"],
        verbose=values["verbose"],
        divided=divided_of(values["resources_config"]),
        parallel=_at_least_one("parallel_runs", values.get("parallel_runs")),
        jobs_per_gpu=_at_least_one("jobs_per_gpu", values.get("jobs_per_gpu")),
        others={key: values[key] for key in others if values.get(key) is not None},
    )


def _at_least_one(key: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise LauncherError(f"hydra.launcher.{key}={value} must be 1 or more, or null.")
    return value


def divided_of(config: Mapping[str, Any] | None) -> Divided:
    config = config or {}
    for name, arguments in config.items():
        if name not in _DIVIDED:
            raise LauncherError(f"resources_config has no '{name}'. Choose from: {', '.join(_DIVIDED)}.")
        if not isinstance(arguments or {}, Mapping) or not set(arguments or {}) <= set(_DIVIDED[name]):
            known = ", ".join(_DIVIDED[name])
            raise LauncherError(f"resources_config.{name} is {arguments!r}. What it may have: {known}.")
    return Divided(
        cores=_listed(config, "cpu", "cpus") if "cpu" in config else None,
        gpus=[str(gpu) for gpu in _listed(config, "cuda", "gpus")] if "cuda" in config else None,
        delay_s=_delay(config),
    )


def _listed(config: Mapping[str, Any], name: str, argument: str) -> list[Any]:
    value = (config[name] or {}).get(argument)
    if value is not None and not isinstance(value, list):
        raise LauncherError(f"resources_config.{name}.{argument} is {value!r}. It must be a list, or empty.")
    return value or []


def _delay(config: Mapping[str, Any]) -> float:
    delay = (config.get("stagger") or {}).get("delay", 0)
    if not isinstance(delay, int | float) or delay < 0:
        raise LauncherError(f"resources_config.stagger.delay is {delay!r}. It must be a number of seconds.")
    return float(delay)


# -- clusterduck's keys ---------------------------------------------------------------------------------------------


def from_clusterduck(values: Mapping[str, Any]) -> dict[str, Any]:
    """Our keys for those of clusterduck that mean the same wherever the runs go."""
    for key in ("nodes", "tasks_per_node"):
        if values[key] != 1:
            raise LauncherError(f"hydra.launcher.{key}={values[key]}: a run is one process on one node. Leave it at 1.")
    kept = ("name", "wait_for_completion", "resume", "max_failures", "preload", "warm", "project", "retries", "verbose")
    return {
        **{key: values[key] for key in kept},
        "resources_config": values["resources_config"],
        "parallel_runs": values["parallel_runs_per_node"],
    }
