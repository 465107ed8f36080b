"""Scripts written for sbatch, given to `duckrow submit` as they are."""

from __future__ import annotations

import getpass
import platform

from tests.conftest import Duckrow

# By these MPI, JAX and Lightning tell that they are in an allocation, and then ask SLURM for its nodes.
OF_AN_ALLOCATION = {
    "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_NODELIST": "n[1-2]", "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOBID": "7", "SLURM_NNODES": "2", "SLURM_STEP_ID": "0",
    "SLURM_ARRAY_TASK_ID": "99",
}  # fmt: skip


def script(duckrow: Duckrow, *lines: str, name: str = "sl.sh") -> None:
    (duckrow.work / name).write_text("\n".join(["#!/bin/bash", *lines, ""]))


def slurm_variables(duckrow: Duckrow, job_id: int) -> dict[str, str]:
    """What a script that prints them has found."""
    lines = duckrow("logs", str(job_id)).stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("SLURM_"))


def test_a_script_finds_out_who_it_is_and_nothing_of_an_allocation(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH -J fit -c 1", "env")
    duckrow("submit", "--wait", "sl.sh", env=OF_AN_ALLOCATION)
    assert slurm_variables(duckrow, 1) == {
        "SLURM_JOB_ID": "1",
        "SLURM_JOB_NAME": "fit",
        "SLURM_SUBMIT_DIR": str(duckrow.work),
        "SLURM_CPUS_PER_TASK": "1",
    }
    duckrow("submit", "--wait", "--wrap", "env", env=OF_AN_ALLOCATION)
    assert set(slurm_variables(duckrow, 2)) == {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_SUBMIT_DIR"}
    duckrow("submit", "--wait", "--", "env")
    assert slurm_variables(duckrow, 3) == {}


def test_an_array_finds_all_about_itself_and_each_of_its_jobs_its_own_id(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --array=2-8:3 --output=%x-%A_%a.out", "env")
    duckrow.submit("--", "true")
    assert duckrow("submit", "sl.sh", env=OF_AN_ALLOCATION).stdout == "2-4\n"
    duckrow("wait", "2-4")
    for job_id, index in ((2, 2), (3, 5), (4, 8)):
        assert slurm_variables(duckrow, job_id) == {
            "SLURM_JOB_ID": str(job_id),
            "SLURM_JOB_NAME": "sl",
            "SLURM_SUBMIT_DIR": str(duckrow.work),
            "SLURM_ARRAY_JOB_ID": "2",
            "SLURM_ARRAY_TASK_ID": str(index),
            "SLURM_ARRAY_TASK_COUNT": "3",
            "SLURM_ARRAY_TASK_MIN": "2",
            "SLURM_ARRAY_TASK_MAX": "8",
            "SLURM_ARRAY_TASK_STEP": "3",
        }
        assert (duckrow.work / f"sl-2_{index}.out").exists()


def test_only_what_is_exported_goes_along(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --export=NONE", "echo ${MINE-none} ${OTHER-none} $HOME")
    script(duckrow, "#SBATCH --export=MINE,NEW=3", "echo ${MINE-none} ${OTHER-none} $NEW", name="some.sh")
    env = {"MINE": "1", "OTHER": "2", "HOME": "/home/ann"}
    duckrow("submit", "--wait", "sl.sh", env=env)
    duckrow("submit", "--wait", "some.sh", env=env)
    duckrow("submit", "--wait", "--env", "OTHER=5", "some.sh", env=env)
    assert duckrow("logs", "1").stdout == "none none /home/ann\n"
    assert duckrow("logs", "2").stdout == "1 none 3\n"
    assert duckrow("logs", "3").stdout == "1 5 3\n"


def test_output_and_errors_go_to_the_files_that_the_lines_name(duckrow: Duckrow) -> None:
    (duckrow.work / "logs").mkdir()
    script(
        duckrow,
        "#SBATCH --job-name=fit --output=logs/%x-%j.out --error=logs/%u-%N-%4j.err",
        "echo good; echo bad >&2; exit $1",
    )
    assert duckrow("submit", "--wait", "sl.sh", "0").stdout == "1\n"
    errors = f"{getpass.getuser()}-{platform.node().split('.')[0]}"
    assert (duckrow.work / "logs/fit-1.out").read_text() == "good\n"
    assert (duckrow.work / f"logs/{errors}-0001.err").read_text() == "bad\n"
    assert duckrow("logs", "1").stdout == "good\n"
    assert duckrow("logs", "--path", "1").stdout == f"{duckrow.work}/logs/fit-1.out\n"
    assert duckrow("submit", "--wait", "sl.sh", "3", ok=False).returncode == 3
    assert (duckrow.work / f"logs/{errors}-0002.err").read_text() == "bad\n"
    assert duckrow("logs", "2").stdout == "good\nbad\n"  # why it failed is where people look
    shown = duckrow("show", "2").stdout
    assert f"output     {duckrow.work}/logs/fit-2.out" in shown
    assert f"{errors}-0002.err" in shown


def test_the_files_of_a_command_are_named_in_the_same_way(duckrow: Duckrow) -> None:
    assert duckrow("submit", "--wait", "-J", "fit", "-o", "%x.%j", "--", "echo", "hello").returncode == 0
    assert (duckrow.work / "fit.1").read_text() == "hello\n"
    (duckrow.work / "list").write_text("echo a\necho b\n")
    duckrow("submit", "--wait", "-o", "of-%j", "--file", "list")
    assert [(duckrow.work / f"of-{job_id}").read_text() for job_id in (2, 3)] == ["a\n", "b\n"]


def test_a_job_that_is_yet_to_start_shows_where_it_will_write(duckrow: Duckrow) -> None:
    duckrow("submit", "--hold", "-o", "out-%j", "--", "true")
    assert f"output     {duckrow.work}/out-1\n" in duckrow("show", "1").stdout
    assert duckrow.job(1)["outfile"] == f"{duckrow.work}/out-1"


def test_the_time_limit_of_a_script_is_in_minutes_and_ends_it(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --time=0:01 --signal=B:TERM@60", "sleep 600")
    assert duckrow("submit", "--wait", "sl.sh", ok=False).returncode != 0
    assert duckrow.state(1) == "timed-out"
    script(duckrow, "#SBATCH --time=90 --hold", "true")
    duckrow("submit", "sl.sh")
    assert duckrow.job(2)["timeout_s"] == 5400


def test_a_script_waits_for_what_its_lines_name(duckrow: Duckrow) -> None:
    script(duckrow, "exit 3", name="first.sh")
    script(duckrow, "#SBATCH -d afternotok:1", "true")
    script(duckrow, "#SBATCH --dependency=singleton", "true", name="one.sh")
    duckrow("submit", "--wait", "first.sh", ok=False)
    duckrow("submit", "--wait", "sl.sh")
    refused = duckrow("submit", "one.sh", ok=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        "duckrow: --dependency=singleton: duckrow does not do singleton (after all jobs of the same name). Name the "
        "jobs: afterany:12:13.\n",
    )
    never = duckrow("submit", "-d", "afterok:1", "--", "true", ok=False)
    assert "which has failed already, so it would never start" in never.stderr


def test_a_rerun_of_a_script_has_the_same_id_and_files(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH -o out-%j", "echo $SLURM_JOB_ID")
    duckrow("submit", "--wait", "sl.sh")
    duckrow("rerun", "1")
    duckrow("wait", "1")
    assert (duckrow.work / "out-1").read_text() == "1\n1\n"


def test_what_is_not_used_is_said_in_one_line(duckrow: Duckrow) -> None:
    script(duckrow, "#SBATCH --partition=dev --account=me", "true")
    done = duckrow("submit", "sl.sh")
    told = "duckrow: These #SBATCH options are SLURM's own and were not used here: --partition, --account\n"
    assert (done.stdout, done.stderr) == ("1\n", told)


def test_advice_on_the_size_of_a_gpu_is_where_sizes_are_said(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    refused = duckrow("submit", "--gpu-mem", "500G", "--", "true", ok=False)
    assert "Say it: duckrow up --devices 0:24G,1:24G." in refused.stderr
    again = duckrow("run", "--devices", "0,1", "--gpu-mem", "500G", stdin="true\n", ok=False)
    assert "Say it: --devices 0:24G,1:24G." in again.stderr
