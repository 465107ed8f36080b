"""Imported by a preloaded parent before it forks runs: prepares everything that they share."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf, open_dict

from duckrow.hydra.runs.launch import VARIABLE, Launch, home_of, shared_launch
from duckrow.hydra.runs.quick_overrides import is_simple
from duckrow.hydra.runs.run import prepare_quickly

# Hydra's parser, which simple overrides do without, remembers which characters can follow which: all usual ones.
_FORMS = ["a=0123456789", "+b.c=[x,'y']", "d/e@f=-0.12345678e-9", "g={h: null}", "++i=abcdefghijklmnopqrstuvwxyz", "j="]


def imported_by_runs(arguments: list[str]) -> list[str]:
    home = home_of(os.environ[VARIABLE])
    return [home] if home else []


def before_forks(arguments: list[str]) -> None:
    prepare_quickly()
    try:
        with shared_launch(os.environ[VARIABLE]) as launch:
            if not all(map(is_simple, launch.sample)):
                OverridesParser.create().parse_overrides(_FORMS)
            rehearse(launch)
    except BaseException:  # it needs classes of the project, so the runs do it; or it is wrong, and a run will say so
        pass


def rehearse(launch: Launch) -> None:
    """Parsers build caches as they parse, and forked runs share them: this saves each run a third of its time."""
    config = launch.hydra_context.config_loader.load_sweep_config(launch.config, list(launch.sample))
    with open_dict(config):
        config.hydra.job.num = 0
        config.hydra.job.id = config.hydra.sweep.subdir = "rehearsal"
        config.hydra.runtime.output_dir = "/"
    before = HydraConfig.instance().cfg
    try:
        HydraConfig.instance().set_config(config)  # for the resolver `hydra:`
        OmegaConf.to_container(config.hydra.job_logging, resolve=True)
        with suppress(ImportError):  # newer versions of Hydra import it in each run
            import_module("hydra._internal.logging_config")
        OmegaConf.to_yaml(config)
    finally:
        HydraConfig.instance().cfg = before
