"""What a job needs, in the words of the command line, as Python programs write it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from duckrow.api.adding.job_values import existing_folder, find_shell, parse_notice, recipe_here
from duckrow.api.machine.settings import Settings
from duckrow.api.python.handles import Job
from duckrow.core.devices.needs import Needs
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import SKIP, WAIT, JobSpec, parse_modules
from duckrow.core.life.dependencies import OK, Dependency, parse_after
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.nearest_word import nearest_word
from duckrow.core.settings import settings_of
from duckrow.core.units import parse_size_mb

AUTO = "auto"

if TYPE_CHECKING:
    from duckrow.api.adding.begin import Begin
    from duckrow.core.clusters.request import ClusterRequest


class Options(TypedDict, total=False):
    """What a job needs, in the words of the command line. None: as the settings say."""

    gpus: int | None  # 0: a CPU slot; None: one device
    name: str | None
    project: str | None
    retries: int | None
    requeue_lost: bool | None  # requeue it if it is lost, for example by a reboot
    backoff: float | str | None
    timeout: float | str | None  # seconds, "2h"; "none": no limit, whatever the settings say
    signal: str | None  # "USR2@30s"
    grace: float | str | None
    env: Mapping[str, str] | None  # added to the variables that are set here
    cwd: str | os.PathLike[str] | None
    shell: str | None
    priority: int | None
    after: After | None  # jobs that must succeed first, or the text of --after
    if_broken: str | None
    begin: str | datetime | None
    hold: bool | None
    outfile: str | os.PathLike[str] | None
    max_log: int | str | None
    preload: str | Sequence[str] | None  # modules of a warm start; "auto": the large libraries that it imports
    gpu_mem: int | str | None  # on each GPU: MB, "10G", or "auto": learn it, and pack
    total_gpu_mem: int | str | None  # on all its GPUs together
    memory_params: str | Sequence[str] | None  # with gpu_mem: the parameters that decide it
    cpus: int | None
    mem: int | str | None  # of the machine
    mem_limit: bool | None  # the kernel kills it if it uses more
    on: str | None  # a cluster: "slurm", or one of the settings
    slurm: Mapping[str, Any] | None  # the request to it: {"partition": "dev", "time": "2h", "gres": "gpu:4"}


After = int | str | Job[Any] | Iterable[int | str | Job[Any]]


class Request(NamedTuple):
    """Parsed options: everything that new jobs need except their command."""

    spec: Callable[..., JobSpec]
    name: str  # empty: taken from the command or the function
    project: str
    environment: dict[str, str]
    after: list[Dependency]
    cluster: ClusterRequest | None = None  # where it runs instead of this machine


_PLAIN: dict[str, tuple[type | tuple[type, ...], str]] = {
    "gpus": (int, "a whole number"),
    "cpus": (int, "a whole number"),
    "name": (str, "a string"),
    "project": (str, "a string"),
    "env": (Mapping, "a dict of strings"),
    "cwd": ((str, os.PathLike), "a path"),
    "if_broken": (str, "a string"),
    "begin": ((str, datetime), "a string or a datetime"),
    "outfile": ((str, os.PathLike), "a path"),
    "on": (str, "a string"),
    "slurm": (Mapping, "a dict"),
    "preload": ((str, list, tuple), "'auto', or a list of the names of modules"),
    "memory_params": ((str, list, tuple), "a list of the names of parameters"),
}


def read_options(options: Mapping[str, Any]) -> Request:
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        _check(key, value)
    held = Settings().values(given.get("project"))
    values = {key: held[f"job.{key}"].value for key in settings_of("job")}
    values |= {key: _read_setting(key, given[key]) for key in values if key in given}
    notice_signal, notice_s = parse_notice(values["signal"])
    spec = partial(
        JobSpec,
        cwd=existing_folder(given.get("cwd")),
        project=values["project"],
        gpus=given.get("gpus"),
        shell=find_shell(values["shell"]),
        retries=values["retries"],
        requeue_lost=values["requeue_lost"],
        backoff_s=values["backoff"],
        timeout_s=values["timeout"],
        notice_signal=notice_signal,
        notice_s=notice_s,
        grace_s=values["grace"],
        outfile=os.path.abspath(given["outfile"]) if "outfile" in given else None,
        max_log_bytes=values["max_log"],
        priority=values["priority"],
        **(_begin(given["begin"])._asdict() if "begin" in given else {}),
        held=bool(given.get("hold")),
        if_broken=given.get("if_broken", SKIP),
        preload=parse_modules(",".join(_names(given["preload"]))) if "preload" in given else None,
        needs=_needs(given),
    )
    environment, after = dict(given.get("env", {})), _after(given.get("after"))
    return Request(spec, given.get("name", ""), values["project"], environment, after, _cluster(given))


def _cluster(given: Mapping[str, Any]) -> ClusterRequest | None:
    if "on" not in given:
        if "slurm" in given:
            raise UsageError('slurm= says what to ask of a cluster. Name the cluster: on="slurm".')
        return None
    if given.get("begin"):
        raise UsageError('begin= does not go with on=. SLURM has it itself: slurm={"sbatch": ["--begin=..."]}.')
    from duckrow.api.clusters.submit import read_request

    return read_request(given["on"], given.get("slurm", {}))


def _needs(given: Mapping[str, Any]) -> Needs:
    auto = given.get("gpu_mem") == AUTO
    return Needs(
        gpu_mem_mb=_megabytes(given, "gpu_mem") if not auto else None,
        total_gpu_mem_mb=_megabytes(given, "total_gpu_mem"),
        auto=auto,
        deciding=",".join(_names(given.get("memory_params", ()))) if "gpu_mem" in given else "",
        cpus=given.get("cpus"),
        mem_mb=_megabytes(given, "mem"),
        mem_limit=bool(given.get("mem_limit")),
    )


def _names(value: str | Sequence[str]) -> list[str]:
    """`"torch,numpy"` as on the command line, or a list."""
    names = value.split(",") if isinstance(value, str) else value
    return [name.strip() for name in names if name.strip()]


def _megabytes(given: Mapping[str, Any], key: str) -> int | None:
    try:
        return parse_size_mb(str(given[key])) if key in given else None
    except UsageError as error:
        raise UsageError(f"{key}: {error}") from None


def with_recipe(spec: JobSpec, what: str | None, point: Mapping[str, Any] | None = None) -> JobSpec:
    """Set the recipe of a job that shares GPUs by memory, and what it preloads if it leaves that to duckrow.

    `what`: the template of a sweep, or the name of a function; `point`: its values, or the arguments.
    """
    if spec.needs.auto or spec.needs.gpu_mem_mb is not None:
        deciding = _names(spec.needs.deciding)
        spec.needs = spec.needs._replace(**recipe_here(spec.cwd, spec.command, what, deciding, point)._asdict())
    if spec.preload == AUTO:
        from duckrow.api.adding.libraries import with_libraries  # few jobs leave it to duckrow

        return with_libraries(spec)
    return spec


def _check(key: str, value: Any) -> None:
    if key not in Options.__annotations__:
        near = nearest_word(key, Options.__annotations__)
        hint = f"Did you mean {near}?" if near else f"Choose from {', '.join(Options.__annotations__)}."
        raise UsageError(f"There is no option {key}=. {hint}")
    kind, words = _PLAIN.get(key, (object, ""))
    is_right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if not is_right:
        raise UsageError(f"{key}={value!r} must be {words}.")
    if key == "if_broken" and value not in (SKIP, WAIT):
        raise UsageError(f"if_broken={value!r} must be '{SKIP}' or '{WAIT}'.")
    texts = [*value, *value.values()] if key == "env" else value if key in ("preload", "memory_params") else []
    for text in texts:
        if not isinstance(text, str) or "\0" in text:
            raise UsageError(f"{key}: {text!r} is not a string.")
    if key == "env" and any(not name or "=" in name for name in value):
        raise UsageError(f"env: {', '.join(map(repr, value))}: a variable has a name, without a '=' in it.")


def _read_setting(key: str, value: Any) -> Any:
    """Parse it like a value of a settings file, so that both accept the same."""
    try:
        return settings_of("job")[key].read(value)
    except UsageError as error:
        reason = str(error)
        raise UsageError(f"{key}={value!r}: {reason}" if reason[:1] == "'" else f"{key}={value!r} {reason}.") from None


def _begin(when: str | datetime) -> Begin:
    from duckrow.api.adding.begin import Begin, parse_begin

    return Begin(when.timestamp()) if isinstance(when, datetime) else parse_begin(when)


def _after(after: After | None) -> list[Dependency]:
    if after is None:
        return []
    if isinstance(after, str):
        return parse_after(after)
    if isinstance(after, Job):
        return [Dependency(str(after.id), OK)]
    if isinstance(after, int) and not isinstance(after, bool):
        return [Dependency(str(after), OK)]
    if isinstance(after, Iterable):
        return [dependency for each in after for dependency in _after(each)]
    raise UsageError(f"after={after!r} must be ids, jobs, or a string like 'any:12'.")
