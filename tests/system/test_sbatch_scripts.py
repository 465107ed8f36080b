"""Scripts written for sbatch, given to `duckrow submit` as they are."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Duckrow

# By these MPI, JAX and Lightning tell that they are in an allocation, and then ask SLURM for its nodes.
OF_AN_ALLOCATION = {
    "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_NODELIST": "n[1-2]", "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOBID": "7", "SLURM_NNODES": "2", "SLURM_STEP_ID": "0",
    "SLURM_ARRAY_TASK_ID": "99",
}  # fmt: skip


@pytest.fixture(scope="module")
def with_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duckrow]:
    """One daemon for all: none of these tests does anything to it."""
    program = Duckrow(tmp_path_factory.mktemp("state"), Path())
    program.work = tmp_path_factory.mktemp("work")
    program.up("--slots", "2")
    yield program
    program.kill_everything()


@pytest.fixture
def duckrow(with_daemon: Duckrow, tmp_path: Path) -> Duckrow:
    with_daemon.work = tmp_path
    return with_daemon


def script(duckrow: Duckrow, *lines: str, name: str = "sl.sh") -> None:
    (duckrow.work / name).write_text("\n".join(["#!/bin/bash", *lines, ""]))


def done_by(duckrow: Duckrow, *words: str, code: int = 0, env: dict[str, str] | None = None) -> int:
    """Submit it and wait for its end; the id."""
    done = duckrow("submit", "--wait", *words, env=env, ok=False)
    assert done.returncode == code, done.stderr
    return int(done.stdout)


def slurm_variables(duckrow: Duckrow, job_id: int) -> dict[str, str]:
    """What a script that prints them has found."""
    lines = duckrow("logs", str(job_id)).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("SLURM_"))


def test_a_script_finds_out_who_it_is_and_nothing_of_an_allocation(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH -J fit -c 1", "env")
    of_script = done_by(duckrow, "sl.sh", env=OF_AN_ALLOCATION)
    assert slurm_variables(duckrow, of_script) == {
        "SLURM_JOB_ID": str(of_script),
        "SLURM_JOB_NAME": "fit",
        "SLURM_SUBMIT_DIR": str(duckrow.work),
        "SLURM_CPUS_PER_TASK": "1",
    }
    of_wrap = done_by(duckrow, "--wrap", "env", env=OF_AN_ALLOCATION)
    assert set(slurm_variables(duckrow, of_wrap)) == {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_SUBMIT_DIR"}
    assert slurm_variables(duckrow, done_by(duckrow, "--", "env")) == {}


def test_an_array_finds_all_about_itself_and_each_of_its_jobs_its_own_id(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --array=2-8:3 --output=%x-%A_%a.out", "env")
    first, last = map(int, duckrow("submit", "--wait", "sl.sh", env=OF_AN_ALLOCATION).stdout.split("-"))
    for job_id, index in zip(range(first, last + 1), (2, 5, 8), strict=True):
        assert slurm_variables(duckrow, job_id) == {
            "SLURM_JOB_ID": str(job_id),
            "SLURM_JOB_NAME": "sl",
            "SLURM_SUBMIT_DIR": str(duckrow.work),
            "SLURM_ARRAY_JOB_ID": str(first),
            "SLURM_ARRAY_TASK_ID": str(index),
            "SLURM_ARRAY_TASK_COUNT": "3",
            "SLURM_ARRAY_TASK_MIN": "2",
            "SLURM_ARRAY_TASK_MAX": "8",
            "SLURM_ARRAY_TASK_STEP": "3",
        }
        assert (duckrow.work / f"sl-{first}_{index}.out").exists()


def test_only_what_is_exported_goes_along(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --export=NONE", "echo ${MINE-none} ${OTHER-none} $HOME")
    script(duckrow, "#SBATCH --export=MINE,NEW=3", "echo ${MINE-none} ${OTHER-none} $NEW", name="some.sh")
    env = {"MINE": "1", "OTHER": "2", "HOME": "/home/ann"}
    ids = [done_by(duckrow, *words, env=env) for words in (["sl.sh"], ["some.sh"], ["--env", "OTHER=5", "some.sh"])]
    said = [duckrow("logs", str(job_id)).stdout for job_id in ids]
    assert said == ["none none /home/ann\n", "1 none 3\n", "1 5 3\n"]


def test_output_and_errors_go_to_the_files_that_the_lines_name(duckrow: Duckrow) -> None:
    (duckrow.work / "logs").mkdir()
    script(
        duckrow,
        "#SBATCH --job-name=fit --output=logs/%x-%j.out --error=logs/%u-%N-%4j.err",
        "echo good; echo bad >&2; exit $1",
    )
    good, bad = done_by(duckrow, "sl.sh", "0"), done_by(duckrow, "sl.sh", "3", code=3)
    who = f"{getpass.getuser()}-{platform.node().split('.')[0]}"
    for job_id in (good, bad):
        assert (duckrow.work / f"logs/{who}-{job_id:04}.err").read_text() == "bad\n"
    assert (duckrow.work / f"logs/fit-{good}.out").read_text() == "good\n"
    assert duckrow("logs", str(good)).stdout == "good\n"
    assert duckrow("logs", "--path", str(good)).stdout == f"{duckrow.work}/logs/fit-{good}.out\n"
    assert duckrow("logs", str(bad)).stdout == "good\nbad\n"  # why it failed is where people look
    shown = duckrow("show", str(bad)).stdout
    assert f"output     {duckrow.work}/logs/fit-{bad}.out" in shown
    assert f"{who}-{bad:04}.err" in shown


def test_the_files_of_a_command_are_named_in_the_same_way(duckrow: Duckrow) -> None:
    job_id = done_by(duckrow, "-J", "fit", "-o", "%x.%j", "--", "echo", "hello")
    assert (duckrow.work / f"fit.{job_id}").read_text() == "hello\n"
    (duckrow.work / "list").write_text("echo a\necho b\n")
    duckrow("submit", "--wait", "-o", "of-%j", "--file", "list")
    assert [(duckrow.work / f"of-{job_id + n}").read_text() for n in (1, 2)] == ["a\n", "b\n"]


def test_a_script_runs_in_the_folder_that_its_lines_name(duckrow: Duckrow) -> None:
    (duckrow.work / "there").mkdir()
    script(duckrow, "#SBATCH --chdir=there -o out", "pwd; echo $SLURM_SUBMIT_DIR")
    done_by(duckrow, "sl.sh")
    assert (duckrow.work / "there/out").read_text() == f"{duckrow.work}/there\n{duckrow.work}\n"


def test_a_job_that_is_yet_to_start_shows_where_it_will_write(duckrow: Duckrow) -> None:
    job_id = duckrow.submit("--hold", "-o", "out-%j", "--", "true")
    assert f"output     {duckrow.work}/out-{job_id}\n" in duckrow("show", str(job_id)).stdout
    assert duckrow.job(job_id)["outfile"] == f"{duckrow.work}/out-{job_id}"


def test_the_time_limit_of_a_script_is_in_minutes_and_ends_it(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --time=0:01 --signal=B:USR1@60", "sleep 600")
    duckrow.wait_for(duckrow.submit("sl.sh"), "timed-out")
    script(duckrow, "#SBATCH --time=90 --hold", "true")
    assert duckrow.job(duckrow.submit("sl.sh"))["timeout_s"] == 5400


def test_a_script_waits_for_what_its_lines_name(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH -J first", "exit 3", name="first.sh")
    script(duckrow, "#SBATCH -d afternotok:first", "true")
    script(duckrow, "#SBATCH --dependency=singleton", "true", name="one.sh")
    first = done_by(duckrow, "first.sh", code=3)
    done_by(duckrow, "sl.sh")
    refused = duckrow("submit", "one.sh", ok=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        "duckrow: --dependency=singleton: duckrow does not support singleton (after all jobs of the same name). Name "
        "the jobs: afterany:12:13.\n",
    )
    never = duckrow("submit", "-d", f"afterok:{first}", "--", "true", ok=False)
    assert "which already failed, so it would never start" in never.stderr


def test_a_rerun_of_a_script_has_the_same_id_and_file(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH -o out-%j", "echo $SLURM_JOB_ID")
    job_id = done_by(duckrow, "sl.sh")
    duckrow("rerun", str(job_id))
    duckrow("wait", str(job_id))
    assert (duckrow.work / f"out-{job_id}").read_text() == f"{job_id}\n{job_id}\n"


def test_what_is_not_used_is_said_in_one_line(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --partition=dev --account=me", "true")
    told = "duckrow: These #SBATCH options are SLURM's own and were not used here: --partition, --account\n"
    assert duckrow("submit", "sl.sh").stderr == told


def test_a_script_is_read_on_standard_input_too(duckrow: Duckrow) -> None:
    text = "#!/bin/bash\n#SBATCH -J fit\nnames=(a b)\necho ${names[1]} $SLURM_JOB_NAME\n"
    job_id = int(duckrow("submit", "--wait", stdin=text).stdout)
    assert duckrow("logs", str(job_id)).stdout == "b fit\n"


def test_advice_on_the_size_of_a_gpu_names_the_command_that_sizes_are_said_to(tmp_path: Path) -> None:
    duckrow = Duckrow(tmp_path / "state", tmp_path)
    try:
        duckrow.up("--devices", "0,1")
        refused = duckrow("submit", "--gpu-mem", "500G", "--", "true", ok=False)
        assert "Give their sizes: duckrow up --devices 0:24G,1:24G." in refused.stderr
        again = duckrow("run", "--devices", "0,1", "--gpu-mem", "500G", stdin="true\n", ok=False)
        assert "Give their sizes: --devices 0:24G,1:24G." in again.stderr
    finally:
        duckrow.kill_everything()
