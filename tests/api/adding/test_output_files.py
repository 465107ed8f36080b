"""Files for the output of jobs: what a job writes where."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from duckrow.api.adding.output_files import placed, with_errors_to
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.output_names import OutputNames


def test_each_job_has_files_of_its_own_and_keeps_its_name() -> None:
    specs = [JobSpec("train", "/", name="fit", array_index=index) for index in (3, 5)]
    both = placed(specs, OutputNames("/o/%x-%A_%a", "/e/%j", "ann", "gpu1"), 41)
    assert [(spec.name, spec.outfile) for spec in both] == [("fit", "/o/fit-41_3"), ("fit", "/o/fit-41_5")]
    assert [spec.command.split(";")[0] for spec in both] == ["(train) 2>>/e/41", "(train) 2>>/e/42"]


@pytest.mark.parametrize(
    "command", ["echo out; echo err >&2; {}", "# remark\necho out; echo err >&2\n{}", "echo out; echo err >&2; {} # x"]
)
@pytest.mark.parametrize("code", [0, 3, 75])
def test_errors_go_to_their_file_and_those_of_a_failure_to_the_log_too(tmp_path: Path, command: str, code: int) -> None:
    whole = with_errors_to(command.format(f"exit {code}"), str(tmp_path / "the err"))
    done = subprocess.run(["/bin/sh", "-c", whole], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "out\n", "err\n" if code else "")
    assert (tmp_path / "the err").read_text() == "err\n"
