"""The options that say what a job needs, shared by the verbs that add jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from duckrow.api.adding.job_values import existing_folder, find_shell, parse_notice, recipe_here
from duckrow.cli.options.option_values import TIME, Parsed
from duckrow.core.devices.needs import NO_NEEDS, Needs
from duckrow.core.devices.policy import KNOBS, Form, Knob, Policy
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import (
    DEFAULT_BACKOFF_S,
    DEFAULT_GRACE_S,
    DEFAULT_NOTICE,
    DEFAULT_PRIORITY,
    DEFAULT_PROJECT,
    DEFAULT_SHELL,
    JobSpec,
    parse_modules,
)
from duckrow.core.units import NO_LIMIT, parse_duration_s, parse_size_bytes, parse_size_mb

if TYPE_CHECKING:
    from duckrow.api.machine.settings import Settings

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
AUTO = "auto"
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


@dataclass(slots=True)
class JobOptions:
    """The values of those options."""

    name: str
    project: str
    retries: int
    requeue_lost: bool
    backoff: float
    timeout: float | None
    notice: tuple[int | None, float]
    grace: float
    variables: tuple[tuple[str, str], ...]
    cwd: str | None
    shell: str
    max_log: int | None
    preload: str | None
    gpu_mem: int | str | None = None
    total_gpu_mem: int | None = None
    pack: bool = False
    memory_params: str | None = None
    cpus: int | None = None
    mem: int | None = None
    mem_limit: bool = False
    priority: int = DEFAULT_PRIORITY  # from the settings; not every verb has an option for it

    @property
    def by_memory(self) -> bool:
        """Whether jobs request GPU memory, so that they may share GPUs."""
        return self.pack or self.gpu_mem is not None or self.total_gpu_mem is not None

    def needs(
        self, cwd: str, command: str, pattern: str | None = None, point: Mapping[str, Any] | None = None
    ) -> Needs:
        if not (self.by_memory or self.cpus or self.mem or self.mem_limit or self.memory_params):
            return NO_NEEDS
        auto = self.pack or self.gpu_mem == AUTO
        if self.pack and self.gpu_mem not in (None, AUTO):
            raise UsageError("Either --pack, which learns what a job needs, or --gpu-mem with a size.")
        deciding = [name.strip() for name in (self.memory_params or "").split(",") if name.strip()]
        return Needs(
            gpu_mem_mb=self.gpu_mem if isinstance(self.gpu_mem, int) else None,
            total_gpu_mem_mb=self.total_gpu_mem,
            auto=auto,
            **(
                recipe_here(cwd, command, pattern, deciding, point)._asdict()
                if auto or self.gpu_mem is not None
                else {}
            ),
            cpus=self.cpus,
            mem_mb=self.mem,
            mem_limit=self.mem_limit,
        )

    def spec(
        self,
        command: str,
        gpus: int | None = None,
        outfile: str | None = None,
        pattern: str | None = None,
        point: Mapping[str, Any] | None = None,
    ) -> JobSpec:
        """`pattern`, `point`: of its sweep, for a run of one."""
        cwd = existing_folder(self.cwd)
        spec = JobSpec(command, cwd, needs=self.needs(cwd, command, pattern, point), **self._in_common(gpus, outfile))
        return _with_libraries(spec)

    def specs(self, commands: Iterable[str], gpus: int | None, outfile: str | None) -> list[JobSpec]:
        return list(map(self.spec_maker(gpus, outfile), commands))

    def spec_maker(self, gpus: int | None, outfile: str | None = None) -> Callable[[str], JobSpec]:
        """A function that makes the specs of many commands. What they share is worked out now, only once."""
        cwd, in_common = existing_folder(self.cwd), self._in_common(gpus, outfile)
        if self.by_memory or self.preload == AUTO:  # which depends on the command
            return lambda command: _with_libraries(JobSpec(command, cwd, needs=self.needs(cwd, command), **in_common))
        any_command = JobSpec("true", cwd, needs=self.needs(cwd, "true"), **in_common)
        return lambda command: any_command.with_command(command, self.name)

    def _in_common(self, gpus: int | None, outfile: str | None) -> dict[str, Any]:
        """The same for every job, whatever its command."""
        return {
            "name": self.name,
            "project": self.project,
            "priority": self.priority,
            "gpus": gpus,
            "shell": find_shell(self.shell),
            "retries": self.retries,
            "requeue_lost": self.requeue_lost,
            "backoff_s": self.backoff,
            "timeout_s": self.timeout,
            "notice_signal": self.notice[0],
            "notice_s": self.notice[1],
            "grace_s": self.grace,
            "outfile": None if outfile is None else os.path.abspath(outfile),
            "max_log_bytes": self.max_log,
            "preload": self.preload,
        }


def _with_libraries(spec: JobSpec) -> JobSpec:
    if spec.preload != AUTO:
        return spec
    from duckrow.api.adding.libraries import with_libraries  # few jobs leave it to duckrow

    return with_libraries(spec)


def take_job_options(values: dict[str, Any]) -> JobOptions:
    """Take the shared options out of a verb's arguments; the settings fill in what was not given."""
    return read_job_options(take_job_values(values))


def take_job_values(values: dict[str, Any]) -> dict[str, Any]:
    """The values as typed, for a verb that learns the project later."""
    return {name: values.pop(name) for name in JobOptions.__slots__ if name != "priority"}


def read_job_options(given: dict[str, Any]) -> JobOptions:
    from duckrow.api.machine.settings import Settings

    held = Settings().values(given["project"])
    for name, value in given.items():
        setting = held.get(f"job.{_SETTING_OF.get(name, name)}")
        if setting is not None:
            given[name] = None if value == NO_LIMIT else setting.value if value is None else value
    if isinstance(given["notice"], str):
        given["notice"] = parse_notice(given["notice"])  # already checked by the settings
    return JobOptions(**given, priority=held["job.priority"].value)


_SETTING_OF = {"notice": "signal"}


def fill_devices(section: str, values: dict[str, Any], settings: Settings) -> None:
    """If no devices were given, take those from the settings of `run` or `daemon`."""
    if not values["devices"] and values["slots"] is None:
        values["devices"] = tuple(settings[f"{section}.devices"] or ())
        values["slots"] = settings[f"{section}.slots"]
    if values["jobs_per_gpu"] is None:
        values["jobs_per_gpu"] = settings[f"{section}.jobs_per_gpu"]
    for knob in KNOBS.values():
        if section in knob.settings and values[knob.option] is None and not values.get(knob.unless):
            values[knob.option] = settings[f"{section}.{knob.option}"]


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
