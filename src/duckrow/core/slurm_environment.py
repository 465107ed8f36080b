"""The environment of runs on a cluster: what the script of a SLURM job does first, and containers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

# Not /etc/profile, which would forget the PATH of whoever submits.
_DEFINE_MODULE = (
    'type module >/dev/null 2>&1 || for file in "$MODULESHOME/init/bash" "$LMOD_PKG/init/bash" '
    "/etc/profile.d/{lmod,z00_lmod,modules}.sh /usr/share/{modules,lmod/lmod}/init/bash; do "
    '[ -r "$file" ] && source "$file" && break; done'
)
_PROGRAM = '"$(command -v apptainer || command -v singularity)"'


def setup_lines(modules: Sequence[str], conda: str | None, setup: Sequence[str]) -> list[str]:
    """Lines of bash. What cannot be had ends the SLURM job at once, with its reason in the log."""
    lines: list[str] = []
    if modules:
        lines.append(_DEFINE_MODULE)
        lines += [f"module load {shlex.quote(module)} || exit 1" for module in modules]
    if conda:
        lines.append(f'eval "$(conda shell.bash hook)" && conda activate {shlex.quote(conda)} || exit 1')
    return [*lines, *setup]


def in_container(image: str, command: str) -> str:
    """The command of a run, within a container that sees its folders, and its GPUs if it has any."""
    words = [_PROGRAM, "exec", "${CUDA_VISIBLE_DEVICES:+--nv}", '--bind "$PWD" --bind "$DUCKROW_RUN_DIR"']
    return " ".join([*words, shlex.quote(image), "/bin/sh", "-c", shlex.quote(command)])
