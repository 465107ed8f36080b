"""Output files of jobs, named once the jobs have their ids."""

from __future__ import annotations

import os
import pwd
import shlex
from collections.abc import Sequence
from dataclasses import replace

from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.output_names import OutputNames

_LINES_OF_ERROR = 40


def placed(specs: Sequence[JobSpec], output: OutputNames, first: int) -> list[JobSpec]:
    """These jobs, with ids from `first` on, each with its own files."""
    return [_placed(spec, output, job_id, first) for job_id, spec in enumerate(specs, start=first)]


def _placed(spec: JobSpec, output: OutputNames, job_id: int, first: int) -> JobSpec:
    array_id = job_id if spec.array_index is None else first
    out, error = output.files(job_id, array_id, spec.array_index, spec.name)
    command = spec.command if error is None else with_errors_to(spec.command, error)
    return replace(spec, outfile=out, command=command)


def with_errors_to(command: str, path: str) -> str:
    """The command with stderr in a separate file; if it fails, the end of that file goes into the log too."""
    file = shlex.quote(path)
    whole = f"(\n{command}\n)" if "\n" in command or "#" in command else f"({command})"
    return f"{whole} 2>>{file}; s=$?; [ $s = 0 ] || tail -n {_LINES_OF_ERROR} {file} >&2; exit $s"


def user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def node_name() -> str:
    return os.uname().nodename.split(".")[0]
