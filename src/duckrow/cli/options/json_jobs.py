"""Jobs as lines of JSON: options hold what all jobs share, lines what differs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from duckrow.api.adding.job_values import existing_folder, folder_to_make
from duckrow.cli.options.typed_job_options import AUTO, JobOptions
from duckrow.core.clusters.groups import check_own_request
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.devices.needs import ask_of
from duckrow.core.errors import UsageError, as_key, as_option, naming
from duckrow.core.jobs.job import JobSpec, PointOfSweep, parse_modules, shorten
from duckrow.core.schedule.placement import refusal
from duckrow.core.units import NO_LIMIT, parse_duration_s, parse_size_mb

_KINDS: dict[str, type | tuple[type, ...]] = {
    "command": str,
    "name": str,
    "project": str,
    "cwd": str,
    "folder": str,
    "outfile": str,
    "gpus": int,
    "gpu_mem": (str, int),
    "total_gpu_mem": (str, int),
    "memory_params": (str, list),
    "cpus": int,
    "mem": (str, int),
    "retries": int,
    "requeue_lost": bool,
    "priority": int,
    "timeout": (str, int, float),
    "env": dict,
    "preload": (str, list),
    "slurm": dict,
    "point": dict,
}
KEYS = tuple(_KINDS)
_LARGEST = 10**9  # the largest number allowed


def spec_of_line(
    line: str,
    options: JobOptions,
    gpus: int | None,
    seats: Sequence[Seat] = (),
    machine: Machine = BARE,
    here: str = "",
) -> JobSpec:
    """The job of a line. With `seats`, refuses a job that fits on none of them.

    `machine`: how much memory the GPUs have; without it, memory is not checked.
    `here`: what its paths are relative to; empty: the current folder.
    """
    job = _checked(line)
    with naming(_names_in(job)):
        return _spec_of(job, options, gpus, seats, machine, here)


class OwnFolders:
    """The folders of the jobs of one list. Two jobs in one folder would write over each other's results."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, spec: JobSpec) -> JobSpec:
        if spec.folder is not None:
            if spec.folder in self._taken:
                raise UsageError(f"An earlier line has the folder {spec.folder} too. Each job needs a different one.")
            self._taken.add(spec.folder)
        return spec


def names_in(line: str) -> Callable[[str], str]:
    """How the fields of a job are written: those in the line as keys, the others as options."""
    return _names_in(_checked(line))


def _names_in(job: Mapping[str, Any]) -> Callable[[str], str]:
    return lambda field: as_key(field) if field in job else as_option(field)


def _spec_of(
    job: Mapping[str, Any], options: JobOptions, gpus: int | None, seats: Sequence[Seat], machine: Machine, here: str
) -> JobSpec:
    options = _with_needs(options, job)
    spec = options.spec(job["command"], job.get("gpus", gpus))
    for key in ("name", "project", "retries", "requeue_lost", "priority"):
        if key in job:
            setattr(spec, key, job[key])
    if "folder" in job:
        spec.folder = folder_to_make(os.path.abspath(os.path.join(here, job["folder"])))
    if "outfile" in job:
        spec.outfile = os.path.abspath(os.path.join(here, job["outfile"]))
    if "cwd" in job:
        spec.cwd = existing_folder(os.path.join(here, job["cwd"]))
    if "timeout" in job:
        spec.timeout_s = _seconds(job["timeout"])
    if "env" in job:
        spec.variables = {name: str(value) for name, value in job["env"].items()}
    if "preload" in job:
        names = job["preload"]
        spec.preload = parse_modules(names if isinstance(names, str) else ",".join(map(str, names)))
        if spec.preload == "auto":
            from duckrow.api.adding.libraries import with_libraries

            with_libraries(spec)
    if "point" in job:
        spec.point = _point(job["point"])
    if "slurm" in job:
        spec.slurm = check_own_request(job["slurm"])
        if seats:
            refuse_own_request(spec)
    if "cwd" in job or "point" in job:  # its recipe depends on the folder, and on what it is a run of
        pattern, point = job.get("point", {}).get("pattern"), spec.point and json.loads(spec.point.parameters)
        spec.needs = options.needs(spec.cwd, spec.command, pattern, point)
    spec.__post_init__()  # check the changes too
    needs = None if machine is BARE else spec.needs.as_text()
    why_not = refusal(ask_of(spec.gpus, needs), seats, machine, "", _names_in(job)) if seats else None
    if why_not:
        raise UsageError(f"The job {shorten(spec.command)} can never start. {why_not}")
    return spec


def refuse_own_request(spec: JobSpec) -> None:
    """A job for this machine must not have a cluster request."""
    if spec.slurm is not None:
        raise UsageError("The 'slurm' of a job is for runs on a cluster. Say which: --on slurm.")


def _point(point: Mapping[str, Any]) -> PointOfSweep:
    """The point of a sweep that another program began."""
    values = {"pattern": "", **point}
    kinds = {name: type(value) for name, value in values.items()}
    if kinds != {"sweep_id": int, "key": str, "parameters": str, "pattern": str} or not _is_object(
        values["parameters"]
    ):
        raise UsageError(
            "The 'point' of a job has a sweep_id, a key and parameters, which are a JSON object in a string. "
            "It may have a pattern."
        )
    return PointOfSweep(values["sweep_id"], values["key"], values["parameters"])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


_NEEDS = ("gpu_mem", "total_gpu_mem", "cpus", "mem")


def _with_needs(options: JobOptions, job: Mapping[str, Any]) -> JobOptions:
    """The options, except where the line overrides them. GPU memory comes from only one of the two."""
    given: dict[str, Any] = {key: _amount(job[key]) for key in _NEEDS if key in job}
    if AUTO in (given.get("total_gpu_mem"), given.get("mem")):
        raise UsageError("Only the gpu_mem of a job can be 'auto'.")
    if "gpu_mem" in given or "total_gpu_mem" in given:
        given = {"gpu_mem": None, "total_gpu_mem": None, "pack": False, **given}
    if "memory_params" in job:
        names = job["memory_params"]
        given["memory_params"] = names if isinstance(names, str) else ",".join(map(str, names))
    return replace(options, **given) if given else options


def _amount(value: str | int) -> int | str:
    """A number of cores or of MB, a size in words, or auto."""
    return value if isinstance(value, int) or value == AUTO else parse_size_mb(value)


def _checked(line: str) -> dict[str, Any]:
    try:
        job = json.loads(line, object_pairs_hook=_object)
    except ValueError as error:
        why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else error
        raise UsageError(f"This line is not JSON ({why}): {shorten(line)}") from None
    except RecursionError:
        raise UsageError(f"This line is nested too deeply for a job: {shorten(line)}") from None
    if not isinstance(job, dict) or "command" not in job:
        raise UsageError(f'A job is written as {{"command": "python train.py", ...}}, not as {shorten(line)}')
    for key, value in job.items():
        if key not in _KINDS:
            raise UsageError(f"A job has no key '{shorten(key)}'. The keys are: {', '.join(KEYS)}.")
        if not isinstance(value, _KINDS[key]) or not _is_possible(key, value):
            raise UsageError(f"The '{key}' of a job cannot be {shorten(repr(value))}.")
    return job


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key that is written twice, JSON would keep only the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise UsageError(f"The key '{shorten(twice)}' stands twice in this line. Omit one of them.")
    return found


def _is_possible(key: str, value: Any) -> bool:
    """Whether the rest of duckrow, SQLite and the kernel accept it."""
    if key == "env":
        return all(_is_variable(name, text) for name, text in value.items())
    if isinstance(value, str):
        is_path = key in ("cwd", "folder", "outfile")
        return _is_text(value) and not (is_path and (not value or "\0" in value))
    if key == "requeue_lost":
        return True
    if isinstance(value, int | float):
        return not isinstance(value, bool) and abs(value) <= _LARGEST
    return True


def _is_variable(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return bool(name) and "=" not in name and "\0" not in f"{name}{value}" and _is_text(f"{name}{value}")


def _is_text(text: str) -> bool:
    """JSON can contain half characters (lone surrogates), which are not text."""
    try:
        os.fsencode(text)
        return True
    except UnicodeEncodeError:
        return False


def _seconds(timeout: str | float) -> float | None:
    if timeout == NO_LIMIT:
        return None
    return parse_duration_s(timeout) if isinstance(timeout, str) else float(timeout)
