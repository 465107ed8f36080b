"""The options that say what a job needs, as values: what was typed, filled up from the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from duckrow.api.adding.job_values import existing_folder, find_shell, parse_notice, recipe_here
from duckrow.core.devices.needs import NO_NEEDS, Needs
from duckrow.core.errors import FieldError
from duckrow.core.jobs.job import DEFAULT_PRIORITY, JobSpec
from duckrow.core.quick_dataclass import dataclass
from duckrow.core.units import NO_LIMIT

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

AUTO = "auto"


@dataclass
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

    @property
    def learns_memory(self) -> bool:
        """Whether nobody says how much: duckrow sees it."""
        return self.pack or self.gpu_mem == AUTO

    @property
    def asks_for_memory(self) -> bool:
        """Whether they say how much: only GPUs of known size will do."""
        return isinstance(self.gpu_mem, int) or self.total_gpu_mem is not None

    def needs(
        self, cwd: str, command: str, pattern: str | None = None, point: Mapping[str, Any] | None = None
    ) -> Needs:
        asks_machine = self.cpus is not None or self.mem is not None or self.mem_limit
        if not (self.by_memory or asks_machine or self.memory_params):
            return NO_NEEDS
        if self.pack and self.gpu_mem not in (None, AUTO):
            raise FieldError("Either --pack, which learns what a job needs, or {gpu_mem} with a size.")
        deciding = [name.strip() for name in (self.memory_params or "").split(",") if name.strip()]
        return Needs(
            gpu_mem_mb=self.gpu_mem if isinstance(self.gpu_mem, int) else None,
            total_gpu_mem_mb=self.total_gpu_mem,
            auto=self.learns_memory,
            **(
                recipe_here(cwd, command, pattern, deciding, point)._asdict()
                if self.learns_memory or self.gpu_mem is not None
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
    return {name: values.pop(name) for name in JobOptions.__annotations__ if name != "priority"}


def nothing_typed() -> dict[str, Any]:
    """The values if none of these options was typed."""
    typed = dict.fromkeys(name for name in JobOptions.__annotations__ if name != "priority")
    return {**typed, "name": "", "variables": (), "pack": False, "mem_limit": False}


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
