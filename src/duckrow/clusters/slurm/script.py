"""The script for sbatch, which becomes a pilot."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from duckrow.clusters.slurm.environment import setup_lines, wrapped
from duckrow.core.clusters.request import ClusterRequest


def script_of(folder: str, request: ClusterRequest, python: str, array: str | None = None, group: int = 0) -> str:
    """`array`: the indices, for a complete script; else each submission gives them."""
    log = f"{folder.replace('%', '%%')}/pilots/%A_%a.log"
    options = [*request.options(), f"--output={log}", "--open-mode=append", f"--chdir={folder}"]
    options += [f"--array={array}"] if array is not None else []
    lines = ["#!/bin/bash", *(f"#SBATCH {_quoted(option)}" for option in options)]
    lines += setup_lines(request)
    each = wrapped(request, "COMMAND")
    lines += [f"# each run: {each}"] if each != "COMMAND" else []
    command = shlex.join([request.python or python, "-m", "duckrow.scheduler.pilot", folder])
    # exec: the pilot itself must get the signals that SLURM sends to the batch shell.
    return "\n".join([*lines, f'exec {command} "${{1:-0}}"{f" {group}" if group else ""}', ""])


def array_of(indices: Sequence[int], at_a_time: int | None = None) -> str:
    """`0-3,7%2`, the syntax of sbatch. `at_a_time`: how many of them may run at once."""
    parts: list[list[int]] = []
    for index in sorted(indices):
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    ranges = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
    return ranges if at_a_time is None or at_a_time >= len(indices) else f"{ranges}%{at_a_time}"


def _quoted(option: str) -> str:
    """sbatch allows quotes around the value of an option."""
    name, equals, value = option.partition("=")
    return f'{name}{equals}"{value}"' if any(sign in value for sign in " \t'#") else option
