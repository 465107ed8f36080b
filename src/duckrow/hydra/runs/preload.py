"""Imported by a preloaded parent before it forks runs: prepares everything that they share."""

from __future__ import annotations

import os

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from duckrow.hydra.runs.launch import VARIABLE, Launch, home_of, shared_launch


def imported_by_runs(arguments: list[str]) -> list[str]:
    home = home_of(os.environ[VARIABLE])
    return [home] if home else []


def before_forks(arguments: list[str]) -> None:
    try:
        with shared_launch(os.environ[VARIABLE]) as launch:
            rehearse(launch)
    except BaseException:  # it needs classes of the project, so the runs do it; or it is wrong, and a run will say so
        OverridesParser.create().parse_overrides(["a=1", "+b.c=[x,'y']"])


def rehearse(launch: Launch) -> None:
    """Parsers build caches as they parse, and forked runs share them: this saves each run a third of its time."""
    config = launch.hydra_context.config_loader.load_sweep_config(launch.config, list(launch.sample))
    OmegaConf.to_container(config.hydra.job_logging, resolve=True)
    OmegaConf.to_yaml(config.hydra.sweep)
