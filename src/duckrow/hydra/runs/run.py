"""One run, in its own process: its config is composed here, and Hydra calls the function with it."""

from __future__ import annotations

import functools
import logging
import os
from typing import Any, cast

from hydra.core.utils import JobReturn, JobStatus, run_job
from hydra.types import TaskFunction
from omegaconf import open_dict

from duckrow.hydra.runs.late_configs import with_late_configs
from duckrow.hydra.runs.launch import load_launch
from duckrow.hydra.runs.quick_copies import copy_quickly
from duckrow.hydra.runs.quick_interpolations import parse_interpolations_once
from duckrow.hydra.runs.quick_yaml import write_yaml_quickly
from duckrow.hydra.runs.tracebacks import keep_traceback

log = logging.getLogger("duckrow")


def run_one(launch_file: str, number: int, overrides: list[str], subdir: str) -> JobReturn:
    """Hydra's job return. What the function raised is raised again, so that the job fails and may be retried."""
    prepare_quickly()
    launch, function = load_launch(launch_file)
    if launch.failures is not None:
        launch.failures.check()
    notes = launch.resources.take()
    if launch.verbose:
        function = _telling([*notes, f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES')}"], function)
    loader = launch.hydra_context.config_loader
    load = getattr(loader, "load_only_config", loader.load_sweep_config)  # ours, or Hydra's own
    config = load(launch.config, overrides)
    with open_dict(config):
        config.hydra.job.num = number
        config.hydra.job.id = job_id(config.hydra.job.name, number)
        config.hydra.sweep.subdir = subdir  # as the launcher made it: its name may contain the time
    returned = run_job(
        hydra_context=launch.hydra_context,
        task_function=function,
        config=config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )
    if returned.status == JobStatus.FAILED:
        if launch.failures is not None:
            launch.failures.note()
        error = cast("Exception", returned._return_value)
        keep_traceback(error)
        raise error
    return with_late_configs(returned)


@functools.cache
def prepare_quickly() -> None:
    """Hydra spends most of the time before the call on copying, resolving and writing: the same, but quicker."""
    copy_quickly()
    parse_interpolations_once()
    write_yaml_quickly()


def job_id(name: str, number: int) -> str:
    """`hydra.job.id`: must be known before the run is submitted, because folders may be named after it."""
    return f"{name}_{number}"


def _telling(notes: list[str], function: TaskFunction) -> TaskFunction:
    """The function, which first writes these notes into the log of its run: before the call there is no log."""

    @functools.wraps(function)
    def told(config: Any) -> Any:
        for note in notes:
            log.info(note)
        return function(config)

    return told
