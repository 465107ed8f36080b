"""The options that say what a job needs, shared by the verbs that add jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from duckrow.api.adding.job_values import parse_notice
from duckrow.cli.options.option_values import TIME, Parsed
from duckrow.cli.options.typed_job_options import AUTO
from duckrow.core.devices.policy import KNOBS, Form, Knob, Policy
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import (
    DEFAULT_BACKOFF_S,
    DEFAULT_GRACE_S,
    DEFAULT_NOTICE,
    DEFAULT_PROJECT,
    DEFAULT_SHELL,
    parse_modules,
)
from duckrow.core.units import NO_LIMIT, parse_duration_s, parse_size_bytes, parse_size_mb

Function = TypeVar("Function", bound=Callable[..., Any])


# If a setting sets a limit, `none` removes it.
TIME_OR_NONE = Parsed("time", lambda text: NO_LIMIT if text == NO_LIMIT else parse_duration_s(text))
SIZE_OR_NONE = Parsed("size", lambda text: NO_LIMIT if text == NO_LIMIT else parse_size_bytes(text))


NOTICE = Parsed("signal@time", parse_notice)


def parse_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        if name not in os.environ:
            raise UsageError(f"--env {name}: this variable is not set. Write --env {name}=VALUE.")
        value = os.environ[name]
    if not name or "\0" in text:
        raise UsageError(f"'{text}' is not a variable. Write NAME=VALUE.")
    return name, value


VARIABLE = Parsed("name=value", parse_variable)
MODULES = Parsed("modules", parse_modules)
MEGABYTES = Parsed("size", parse_size_mb)
GPU_MEMORY = Parsed("size", lambda text: AUTO if text == AUTO else parse_size_mb(text))


def job_options(function: Function) -> Function:
    """What a job needs, wherever it runs."""
    return _add_options(function, [_NAME, click.option("-p", "--project", help=_PROJECT_HELP), *_JOB_OPTIONS])


def run_options(function: Function) -> Function:
    """The same for the runs of a sweep, whose `-p` is a parameter."""
    return _add_options(function, [_NAME, click.option("--project", help=_PROJECT_HELP), *_JOB_OPTIONS])


def _add_options(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


_NAME = click.option("-n", "--name", default="", help="Name of the job.  [default: the script or program]")
_PROJECT_HELP = f"The project it belongs to.  [default: {DEFAULT_PROJECT}]"


_JOB_OPTIONS = [
    click.option(
        "--retries", type=click.IntRange(0), metavar="N", help="How often to try again after a failure.  [default: 0]"
    ),
    click.option(
        "--requeue-lost/--no-requeue-lost",
        default=None,
        help="Requeue the job if it is lost, for example because the machine was restarted.",
    ),
    click.option(
        "--backoff",
        type=TIME,
        help=f"Wait before the first retry, then double it.  [default: {DEFAULT_BACKOFF_S:g}s]",
    ),
    click.option("--timeout", type=TIME_OR_NONE, help="Stop the job after this time (90s, 30m, 2h, 1:30:00)."),
    click.option(
        "--signal",
        "notice",
        type=NOTICE,
        help=f"Signal the job this long before its time limit; 'none': do not.  [default: {DEFAULT_NOTICE}]",
    ),
    click.option("--grace", type=TIME, help=f"Time between SIGTERM and SIGKILL.  [default: {DEFAULT_GRACE_S:g}s]"),
    click.option(
        "-e", "--env", "variables", type=VARIABLE, multiple=True, help="Set a variable, or pass on NAME from here."
    ),
    click.option("--cwd", type=click.Path(), help="Folder to run in.  [default: this one]"),
    click.option("--shell", help=f"Shell that runs the command.  [default: {DEFAULT_SHELL}]"),
    click.option("--max-log", type=SIZE_OR_NONE, help="Keep only the beginning and the end of a longer log (10M)."),
    click.option(
        "--gpu-mem",
        type=GPU_MEMORY,
        help="GPU memory needed on each GPU (10G), or 'auto': duckrow learns it and packs.",
    ),
    click.option("--total-gpu-mem", type=MEGABYTES, help="Total GPU memory, on as few GPUs as possible."),
    click.option("--pack", is_flag=True, help="Pack jobs onto GPUs by the memory they really use (--gpu-mem auto)."),
    click.option("--memory-params", help="With auto: parameters that decide the memory (batch_size,model)."),
    click.option("--cpus", type=click.IntRange(1), metavar="N", help="Cores that it needs."),
    click.option("--mem", type=MEGABYTES, help="Main memory that it needs (16G)."),
    click.option("--mem-limit", is_flag=True, help="Let the kernel stop the job if it uses more than --mem."),
    click.option(
        "--preload",
        type=MODULES,
        help="Preload these libraries (torch,numpy; auto: what the script imports) once, and fork the jobs.",
    ),
]


DEVICES_HELP = (
    "Which GPUs: 0,1 or 0-3 (one job on each), 0+1 2+3 (pairs), 0 0 (two jobs on one), 0:24G (with its size), all."
)


def device_options(function: Function) -> Function:
    """Which devices may be used, for the verbs that host the scheduler."""
    return _add_options(function, _DEVICE_OPTIONS)


def policy_of(values: dict[str, Any]) -> Policy:
    """Take the options of the policy out of a verb's arguments."""
    return Policy.of_options({knob.option: values.pop(knob.option) for knob in KNOBS.values()})


def _option_of(knob: Knob) -> Callable[[Function], Function]:
    if knob.form is Form.FLAG:
        return click.option(knob.flag, is_flag=True, default=None, help=knob.help)
    if knob.form is Form.SWITCH:
        return click.option(f"{knob.flag}/--no-{knob.flag[2:]}", default=None, help=knob.help)
    types = {Form.COUNT: click.IntRange(knob.least), Form.SIZE: MEGABYTES, Form.CHOICE: click.Choice(knob.words)}
    return click.option(knob.flag, type=types.get(knob.form), metavar=knob.metavar, help=knob.help)


_DEVICE_OPTIONS = [
    *(_option_of(knob) for knob in KNOBS.values()),
    click.option("--devices", multiple=True, help=DEVICES_HELP),
    click.option(
        "--slots", type=click.IntRange(1), metavar="N", help="Run N jobs at a time on CPU slots, without GPUs."
    ),
    click.option(
        "--jobs-per-gpu", type=click.IntRange(1), metavar="N", help="How many jobs may share a GPU.  [default: 1]"
    ),
]
