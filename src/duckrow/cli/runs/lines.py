"""The lines of a list of commands, and the jobs that they become."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from duckrow.api.adding.job_values import existing_folder
from duckrow.core.devices.machine import BARE
from duckrow.core.errors import UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import ListForm, program_in_place_of_list, read_commands

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    from duckrow.cli.options.typed_job_options import JobOptions
    from duckrow.cli.options.verb_options import RunOptions
    from duckrow.core.devices.inventory import Seat
    from duckrow.core.devices.machine import Machine
    from duckrow.core.jobs.job import JobSpec

_LOOKED_AT_BYTES = 1 << 16  # how much of a file is read to check that it is a list of commands


def refuse_program(file: str | None) -> None:
    """Refuse `duckrow run train.py`: it would not do what was meant."""
    if file in (None, "-"):
        return
    assert file is not None
    if os.path.isdir(file):
        raise UsageError(f"{file} is a folder, not a list of commands.")
    try:
        with open(file, "rb") as stream:
            text = os.fsdecode(stream.read(_LOOKED_AT_BYTES)) if os.path.isfile(file) else ""
    except OSError:
        return  # reported when it is read
    instead = program_in_place_of_list(file, text)
    if instead is not None:
        raise UsageError(instead)


def all_commands(file: str | None, form: ListForm) -> CommandList:
    """`file`: None or - for standard input."""
    try:
        with open(file, "rb") if file is not None and file != "-" else sys.stdin.buffer as stream:
            text = os.fsdecode(stream.read())
    except OSError as error:
        raise UsageError(f"The file {file} cannot be read: {error.strerror}.") from None
    return read_commands(text, form)


def spec_maker(
    given: RunOptions, options: JobOptions, seats: Sequence[Seat] = (), machine: Machine = BARE
) -> Callable[[str], JobSpec]:
    """A function that makes a spec of each line. It remembers this folder: a run changes folders while it reads lines.

    `seats` and `machine`: a job must fit there; those of a cluster are not known yet.
    """
    if given.form != "json":
        return options.spec_maker(given.gpu_count)
    from duckrow.cli.options.json_jobs import OwnFolders, spec_of_line

    options, here = replaced(options, cwd=existing_folder(options.cwd)), os.getcwd()
    folders = OwnFolders()
    return lambda line: folders.take(spec_of_line(line, options, given.gpu_count, seats, machine, here))


def replaced(options: JobOptions, **values: Any) -> JobOptions:
    from dataclasses import replace  # takes as long to load as Python itself, and most runs do not need it

    return replace(options, **values)
