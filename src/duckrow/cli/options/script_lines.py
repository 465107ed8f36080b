"""The lines of a script that hold options: `#DUCKROW --gpus 2`, `#SBATCH --time=90`."""

from __future__ import annotations

import shlex

from duckrow.core.errors import UsageError
from duckrow.core.jobs.commands import script_options
from duckrow.core.slurm.sbatch_options import PREFIX, options_in


def words_in(script: str, prefix: str) -> list[str]:
    """The words of these lines, with quotes and comments as in a shell."""
    words: list[str] = []
    for line in script_options(script, prefix).splitlines():
        try:
            words += shlex.split(line, comments=True)
        except ValueError as error:
            raise UsageError(f"The line '{prefix} {line}' cannot be read: {error}.") from None
    return words


def sbatch_options(script: str) -> dict[str, str]:
    """Long name -> value, empty for a flag. The lines come before the first command; the last of each counts."""
    return dict(options_in(words_in(script, PREFIX)))
