"""Jobs as lines of JSON: what is the same for all stands in the options, what differs in the line."""

from __future__ import annotations

import json
import os
from typing import Any

from duckrow.cli.job_options import JobOptions
from duckrow.core.errors import UsageError
from duckrow.core.job import JobSpec, parse_modules, shorten
from duckrow.core.units import parse_duration_s

_KINDS: dict[str, type | tuple[type, ...]] = {
    "command": str,
    "name": str,
    "project": str,
    "cwd": str,
    "folder": str,
    "outfile": str,
    "gpus": int,
    "retries": int,
    "priority": int,
    "timeout": (str, int, float),
    "env": dict,
    "preload": (str, list),
}
KEYS = tuple(_KINDS)


def spec_of_line(line: str, options: JobOptions, gpus: int | None) -> JobSpec:
    job = _checked(line)
    spec = options.spec(job["command"], job.get("gpus", gpus))
    for key in ("name", "project", "retries", "priority"):
        if key in job:
            setattr(spec, key, job[key])
    for key in ("cwd", "folder", "outfile"):
        if key in job:
            setattr(spec, key, os.path.abspath(job[key]))
    if "timeout" in job:
        spec.timeout_s = parse_duration_s(str(job["timeout"]))
    if "env" in job:
        spec.variables = {str(name): str(value) for name, value in job["env"].items()}
    if "preload" in job:
        names = job["preload"]
        spec.preload = parse_modules(names if isinstance(names, str) else ",".join(map(str, names)))
    spec.__post_init__()  # what was changed is checked like what was given
    return spec


def _checked(line: str) -> dict[str, Any]:
    try:
        job = json.loads(line)
    except ValueError as error:
        raise UsageError(f"This line is not JSON ({error}): {shorten(line)}") from None
    if not isinstance(job, dict) or "command" not in job:
        raise UsageError(f'A job is written as {{"command": "python train.py", ...}}, not as {shorten(line)}')
    for key, value in job.items():
        if key not in _KINDS:
            raise UsageError(f"A job has no '{key}'. There are: {', '.join(KEYS)}.")
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            raise UsageError(f"The '{key}' of a job cannot be {value!r}.")
    return job
