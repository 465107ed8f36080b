"""A script with `#SBATCH` lines does with duckrow what it does with the real sbatch."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S
from tests.slurm.conftest import Cluster, SlurmDuckrow


def script(duckrow: SlurmDuckrow, *lines: str) -> None:
    (duckrow.work / "sl.sh").write_text("\n".join(["#!/bin/bash", *lines, ""]))


def by_sbatch(cluster: Cluster, duckrow: SlurmDuckrow, **variables: str) -> str:
    """Run it by sbatch; the id."""
    done = subprocess.run(
        ["sbatch", "--parsable", "--wait", "sl.sh"],
        env={**duckrow.env, **variables},
        cwd=duckrow.work,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def by_duckrow(duckrow: SlurmDuckrow, **variables: str) -> str:
    """The same by us; the id of the first job."""
    return duckrow("submit", "--wait", "sl.sh", env=variables).stdout.split("-")[0].strip()


def taken_away(folder: Path, job_id: str) -> dict[str, str]:
    """What it has left there, with its id as ID; the next one begins with an empty folder."""
    found = {}
    for path in folder.iterdir():
        if path.name not in ("sl.sh", "duckrow.toml"):
            name = re.sub(rf"\b0+{job_id}(?!\d)", "ID with zeros", path.name)
            name = re.sub(rf"(?<!\d){job_id}(?!\d)", "ID", name)
            found[name] = re.sub(rf"={job_id}\b", "=ID", path.read_text())
            path.unlink()
    return found


def test_a_time_is_what_slurm_takes_it_for(cluster: Cluster, duckrow: SlurmDuckrow) -> None:
    for number, text in enumerate(["90", "90:00", "1:30:00", "1-12", "1-12:30", "0-01:30:00"], start=1):
        script(duckrow, f"#SBATCH --time={text} --hold", "true", "#SBATCH --time=77")
        theirs = cluster("sbatch", "--parsable", str(duckrow.work / "sl.sh")).strip()
        limit = re.search(r"TimeLimit=(?:(\d+)-)?(\d+):(\d+):(\d+)", cluster("scontrol", "show", "job", theirs))
        assert limit is not None
        days, hours, minutes, seconds = (int(part or 0) for part in limit.groups())
        assert duckrow("submit", "sl.sh").stdout == f"{number}\n"
        ours = duckrow.sql("SELECT timeout_s FROM jobs WHERE id = ?", number)
        assert ours == [(days * 86400 + hours * 3600 + minutes * 60 + seconds,)], text


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --job-name=fit --output=%x-%j.out -e %u-%%.err",
        "##SBATCH --output=no\n#SBATCH  -Jfit -o 'with blanks %6j' --error o-%A_%a-%n-%t # remark",
        "# SBATCH -o no\n#SBATCH -o a\\%j -e b-%s-%q",
    ],
)
def test_output_goes_to_the_files_that_slurm_writes(cluster: Cluster, duckrow: SlurmDuckrow, line: str) -> None:
    script(duckrow, line, "echo good; echo bad >&2", "#SBATCH -o no")
    theirs = taken_away(duckrow.work, by_sbatch(cluster, duckrow))
    assert taken_away(duckrow.work, by_duckrow(duckrow)) == theirs


def test_a_script_runs_in_the_folder_in_which_slurm_runs_it(cluster: Cluster, duckrow: SlurmDuckrow) -> None:
    (duckrow.work / "there").mkdir()
    script(duckrow, "#SBATCH --chdir=there -o out", "pwd; echo $SLURM_SUBMIT_DIR")
    theirs = taken_away(duckrow.work / "there", by_sbatch(cluster, duckrow))
    assert taken_away(duckrow.work / "there", by_duckrow(duckrow)) == theirs


def test_an_array_finds_what_slurm_tells_it(cluster: Cluster, duckrow: SlurmDuckrow) -> None:
    script(duckrow, "#SBATCH --array=0-2:2%1 -o /dev/null", "env | grep ^SLURM_ARRAY | sort > of-$SLURM_ARRAY_TASK_ID")
    theirs = taken_away(duckrow.work, by_sbatch(cluster, duckrow))
    ours = taken_away(duckrow.work, by_duckrow(duckrow))
    assert sorted(ours) == ["of-0", "of-2"]
    assert ours == theirs


@pytest.mark.parametrize("export", ["ALL,MINE=5,NEW=3", "MINE,NEW=3", "NONE"])
def test_the_variables_that_slurm_exports_go_along(cluster: Cluster, duckrow: SlurmDuckrow, export: str) -> None:
    script(duckrow, f"#SBATCH --export={export} -o out", "echo ${MINE-none} ${OTHER-none} ${NEW-none}")
    theirs = taken_away(duckrow.work, by_sbatch(cluster, duckrow, MINE="1", OTHER="2"))
    assert taken_away(duckrow.work, by_duckrow(duckrow, MINE="1", OTHER="2")) == theirs
