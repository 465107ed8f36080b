"""Folders that people choose for the runs of plain jobs, with the code that they were started with."""

from __future__ import annotations

import os
from collections.abc import Sequence

from duckrow.api.adding.code_version import note_code
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec


def give_folders(specs: Sequence[JobSpec], root: str, snapshot: bool) -> None:
    """Create a folder `<root>/<project>/<name>/<number>` for each, with its code version or a copy of its code."""
    root = os.path.abspath(root)
    for project, cwd in dict.fromkeys((spec.project, spec.cwd) for spec in specs):
        try:
            os.makedirs(f"{root}/{project}", exist_ok=True)
            code = note_code(f"{root}/{project}", cwd, root, snapshot)
            for spec in specs:
                if (spec.project, spec.cwd) == (project, cwd):
                    spec.folder = _new_folder(f"{root}/{project}/{spec.name}")
                    code.link_into(spec.folder)
                    spec.cwd = code.cwd
        except OSError as error:
            raise UsageError(f"The folders of the runs cannot be created below {root}: {error.strerror}.") from None


def _new_folder(parent: str) -> str:
    os.makedirs(parent, exist_ok=True)
    number = len(os.listdir(parent)) + 1
    while True:
        try:
            os.mkdir(f"{parent}/{number}")
            return f"{parent}/{number}"
        except FileExistsError:
            number += 1
