"""The `#SBATCH` lines of a script are taken apart as sbatch does it."""

from __future__ import annotations

import pytest

from duckrow.cli.options.script_lines import sbatch_options
from duckrow.core.errors import UsageError


def read(*lines: str) -> dict[str, str]:
    return sbatch_options("\n".join(["#!/bin/bash", *lines]))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("#SBATCH --time=90", {"time": "90"}),
        ("#SBATCH --time 90", {"time": "90"}),
        ("#SBATCH\t-t 90", {"time": "90"}),
        ("#SBATCH -t90", {"time": "90"}),
        ("#SBATCH --time=90\r", {"time": "90"}),
        ("#SBATCH -J fit -c 4 --hold --mem=8G", {"job-name": "fit", "cpus-per-task": "4", "hold": "", "mem": "8G"}),
        ("#SBATCH -HQ", {"hold": "", "quiet": ""}),
        ("#SBATCH --job-name='my fit'", {"job-name": "my fit"}),
        ('#SBATCH --comment="a # b" # remark', {"comment": "a # b"}),
        ("#SBATCH --time=5 # five minutes", {"time": "5"}),
        ("#SBATCH --exclusive --part=dev", {"exclusive": "", "partition": "dev"}),
        ("#SBATCH --exclusive=user", {"exclusive": "user"}),
        ("#SBATCH --of-a-plugin=3", {"of-a-plugin": "3"}),
        ("#SBATCH -Z", {"-Z": ""}),
        ("#SBATCH", {}),
        ("##SBATCH --time=90", {}),
        ("# SBATCH --time=90", {}),
        ("#SBATCHING is nice", {}),
        (" #SBATCH --time=90", {}),
    ],
)
def test_a_line_is_taken_apart(line: str, found: dict[str, str]) -> None:
    assert read(line) == found


def test_the_lines_end_with_the_first_command_and_the_last_of_each_counts() -> None:
    lines = ["#SBATCH --time=1", "", "# remark", "  # remark", "#SBATCH -t 2", "hostname", "#SBATCH --time=3 --mem=1G"]
    assert read(*lines) == {"time": "2"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#SBATCH --time", "--time in a #SBATCH line has no value."),
        ("#SBATCH -J", "-J in a #SBATCH line has no value."),
        ("#SBATCH --time=5 minutes", "'minutes' in a #SBATCH line is not an option."),
        ("#SBATCH --comment='a", "The line '#SBATCH --comment='a' cannot be read: No closing quotation."),
    ],
)
def test_a_line_that_cannot_be_read_is_told(line: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(line)
    assert str(raised.value) == said
