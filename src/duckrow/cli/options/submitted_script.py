"""The submitted script with its `#SBATCH` lines: what its job gets, and what people are told of them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from duckrow.cli.console import say
from duckrow.core.named_tuple import NamedTuple

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.core.jobs.arrays import Array
    from duckrow.core.jobs.job import JobSpec

_SRUN = 'command -v srun >/dev/null || srun() { "$@"; }'


class SubmittedScript(NamedTuple):
    text: str = ""  # empty: a command was submitted
    options: Mapping[str, str] = {}  # of its `#SBATCH` lines
    unused: list[str] = []  # what they say that has no meaning here


def variables_for_sbatch(
    script: SubmittedScript, spec: JobSpec, array: Array | None, wrap: str | None
) -> dict[str, str | None]:
    """The variables that a script for sbatch expects; None for those of ours that it does not inherit."""
    if not script.options and wrap is None:
        return {}
    from duckrow.core.slurm.sbatch_values import exported
    from duckrow.core.slurm.sbatch_variables import left_behind, variables_of

    takes_all, named = exported(script.options.get("export", "ALL"), os.environ)
    indices = array.indices if array else ()
    own = variables_of(spec.name, os.getcwd(), indices, spec.needs.cpus)
    return {**left_behind(os.environ, takes_all), **named, **own}


def say_unused(script: SubmittedScript) -> None:
    """Say what will differ from a cluster."""
    if script.unused:
        from duckrow.cli.options.sbatch_script import in_one_line

        say(f"duckrow: {in_one_line(script.unused)}")
    if script.options and _calls_srun(script.text) and not _is_program("srun"):
        say(f"duckrow: The script calls srun, which this machine does not have. Put this line before: {_SRUN}")


def _is_program(name: str) -> bool:
    import shutil

    return shutil.which(name) is not None


def _calls_srun(script: str) -> bool:
    import re

    return re.search(r"^\s*srun\s", script, re.MULTILINE) is not None and "srun()" not in script


def say_not_read(script: SubmittedScript) -> None:
    """On a cluster, a script is a run like any other: its lines do not apply to the SLURM job that runs it."""
    if script.options:
        from duckrow.core.slurm.sbatch_options import PREFIX

        say(
            f"duckrow: The script's {PREFIX} lines were not used. With --on, write them as options: --partition, --time"
        )
