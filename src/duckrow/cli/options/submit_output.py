"""Where `duckrow submit` writes the output of jobs, and whether they would overwrite each other."""

from __future__ import annotations

import os
from collections.abc import Sequence

from duckrow.core.errors import UsageError

TYPE_CHECKING = False  # of typing, which takes longer to load than all of this
if TYPE_CHECKING:
    from duckrow.core.jobs.job import JobSpec
    from duckrow.core.jobs.output_names import OutputNames

_OF_ANOTHER_FAMILY = ("fish", "csh", "tcsh", "nu", "xonsh")


def output_of(outfile: str | None, error: str | None) -> OutputNames | None:
    """Patterns that are filled in once a job has its id; None if there is nothing to fill in."""
    if error is None and (outfile is None or not any(sign in outfile for sign in "%\\")):
        return None
    from duckrow.api.adding.output_files import node_name, user_name
    from duckrow.core.jobs.output_names import OutputNames

    return OutputNames(_pattern(outfile), _pattern(error), user_name(), node_name())


def _pattern(path: str | None) -> str | None:
    """An absolute path. The current folder may have a % in its name."""
    return None if path is None else os.path.join(os.getcwd().replace("%", "%%"), path)


def refuse_outputs(specs: Sequence[JobSpec], outfile: str | None, output: OutputNames | None) -> None:
    """Refuse output files that cannot work."""
    files = [outfile] * len(specs)
    if output is not None:
        shell = os.path.basename(specs[0].shell)
        if output.error is not None and shell in _OF_ANOTHER_FAMILY:
            raise UsageError(
                f"--error does not go with --shell {shell}, which has another syntax for it. Omit one of them."
            )
        named = [output.files(at, 1, spec.array_index, spec.name) for at, spec in enumerate(specs, start=1)]
        files = [path for pair in named for path in pair]
    written = [path for path in files if path not in (None, os.devnull)]
    if len(set(written)) < len(written):
        raise UsageError(
            "--outfile is for one job: several would overwrite each other's output. Put %j, the job's id, into its name"
            " (in an array also %a, the index)."
        )
