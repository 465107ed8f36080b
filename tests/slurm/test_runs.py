"""Runs on a real SLURM: what they get, what becomes of them, and what people do with them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import until
from tests.slurm.conftest import SETTINGS, Cluster, SlurmDuckrow

Running = Callable[[int], dict[str, str]]


def test_twenty_runs_are_run_once_each_in_a_few_slurm_jobs(duckrow: SlurmDuckrow) -> None:
    commands = "".join(f"echo run {number}; echo {number} >> done\n" for number in range(20))
    done = duckrow("run", "--on", "slurm", "--runs-per-job", "10", "--parallel-runs", "4", stdin=commands)
    assert "20 succeeded" in done.stderr
    assert sorted(map(int, duckrow.lines("done"))) == list(range(20))
    jobs = json.loads(duckrow("ls", "--json").stdout)
    assert [job["outcome"] for job in jobs] == ["succeeded"] * 20
    assert duckrow("logs", "7").stdout == "run 6\n"
    assert len([name for name in os.listdir(duckrow.batch() / "pilots") if not name.endswith(".log")]) == 2


def test_one_more_look_finds_a_batch_that_is_done_and_leaves_it_alone(duckrow: SlurmDuckrow) -> None:
    duckrow("run", "--on", "slurm", stdin="true\n")
    assert duckrow.sql("SELECT closed_at IS NOT NULL FROM batches") == [(1,)]
    (duckrow.batch() / "results" / "0.json").unlink()  # nobody looks there any more
    duckrow("ls")
    assert duckrow.states() == ["succeeded"]


def test_a_run_that_fails_or_is_killed_does_not_touch_the_others(duckrow: SlurmDuckrow) -> None:
    commands = "true\nkill -TERM $$\nexit 3\n" + "true\n" * 5
    done = duckrow("run", "--on", "slurm", "--runs-per-job", "8", "--parallel-runs", "2", stdin=commands, ok=False)
    assert done.returncode == 1
    assert duckrow.states() == ["succeeded", "killed", "failed", *["succeeded"] * 5]
    assert "to run again what did not succeed: duckrow rerun 2-3\n" in done.stderr
    assert duckrow.sql("SELECT exit_code, signal FROM attempts WHERE job_id IN (2, 3)") == [(None, 15), (3, None)]


def test_runs_share_the_gpus_that_the_slurm_job_was_given(duckrow: SlurmDuckrow) -> None:
    pair = "echo $CUDA_VISIBLE_DEVICES >> gpus; until test $(wc -l < gpus) -ge {}; do sleep 0.1; done\n"
    commands = pair.format(2) * 2 + pair.format(4) * 2
    duckrow("run", "--on", "slurm", "--gres", "gpu:2", "--runs-per-job", "4", stdin=commands)
    assert sorted(duckrow.lines("gpus")) == ["0", "0", "1", "1"]
    assert {tuple(job["devices"]) for job in json.loads(duckrow("ls", "--json").stdout)} == {("0",), ("1",)}


def test_runs_without_a_gpu_run_beside_the_others_and_gpus_need_not_be_asked_for_twice(duckrow: SlurmDuckrow) -> None:
    lines = [{"command": "echo gpus: $CUDA_VISIBLE_DEVICES", "gpus": gpus} for gpus in (0, 2, 0)]
    duckrow("run", "--on", "slurm", "--format", "json", stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert [duckrow("logs", str(job)).stdout for job in (1, 2, 3)] == ["gpus:\n", "gpus: 0,1\n", "gpus:\n"]
    refused = duckrow("submit", "--on", "slurm", "--gres", "gpu:1", "--gpus", "2", "--", "true", ok=False)
    assert "A run needs 2 GPUs, but each SLURM job gets 1. Ask for more: --gres gpu:2." in refused.stderr


def test_a_run_gets_the_variables_of_its_submitter_and_of_slurm(duckrow: SlurmDuckrow) -> None:
    script = "echo $MINE $SLURM_JOB_ID $DUCKROW_JOB_ID $DUCKROW_RUN_DIR"
    duckrow("run", "--on", "slurm", "-e", "MINE=yes", stdin=f"true\n{script}\n")
    mine, slurm_job, job, folder = duckrow("logs", "2").stdout.split()
    assert (mine, job, slurm_job.isdigit()) == ("yes", "2", True)
    assert folder == str(duckrow.batch() / "runs" / "1")


def test_a_run_on_two_nodes_is_one_job_that_knows_its_ranks_and_fails_as_one(duckrow: SlurmDuckrow) -> None:
    script = "echo $NODE_RANK/$NNODES $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $PET_MASTER_ADDR:$MASTER_PORT"
    script += "; test ! -e fail || { test $NODE_RANK = 0 && exit 3; sleep 600; }"
    duckrow("run", "--on", "slurm", "--nodes", "2", "--gpus", "2", "--", script)
    first, second = sorted(duckrow("logs", "1").stdout.splitlines())
    assert (first.split()[0], second.split()[0]) == ("0/2", "1/2")
    assert first.split()[1] != second.split()[1]
    assert first.split()[2:] == second.split()[2:]
    assert first.split()[2] == "0,1"
    assert re.fullmatch(rf"{first.split()[1]}:\d+", first.split()[3])
    (duckrow.work / "fail").touch()
    duckrow("rerun", "1")
    assert duckrow("wait", "1", ok=False).returncode == 1
    assert not [pid for pid in duckrow.job_processes() if "sleep" in Path(f"/proc/{pid}/cmdline").read_text()]
    refused = duckrow("run", "--on", "slurm", "--sbatch=--nodes=2", stdin="true\n", ok=False)
    assert "For runs that use several nodes each: --nodes 2." in refused.stderr


def test_fixed_chunks_go_to_one_slurm_job_each(duckrow: SlurmDuckrow) -> None:
    options = ["--runs-per-job", "2", "--fixed-chunks", "--parallel-runs", "1"]
    duckrow("run", "--on", "slurm", *options, stdin="echo $SLURM_ARRAY_TASK_ID >> chunks\n" * 6)
    results = [json.loads((duckrow.batch() / "results" / f"{run}.json").read_text()) for run in range(6)]
    pilots = [result["pilot"] for result in results]
    assert pilots[::2] == pilots[1::2]
    assert len(set(pilots)) == 3


def test_more_slurm_jobs_than_an_array_may_have_are_submitted_as_several(duckrow: SlurmDuckrow) -> None:
    duckrow("run", "--on", "slurm", "--runs-per-job", "1", stdin="true\n" * 8)
    assert duckrow.states() == ["succeeded"] * 8
    assert len(os.listdir(duckrow.batch() / "submitted")) >= 2


def test_submitting_returns_at_once_and_the_rest_is_asked_later(duckrow: SlurmDuckrow) -> None:
    assert duckrow("submit", "--on", "slurm", "--", "sleep 1; echo there").stdout == "1\n"
    assert duckrow.states() == ["queued"]
    assert duckrow("logs", "-f", "1").stdout == "there\n"
    assert duckrow("wait", "1").returncode == 0


def test_one_run_is_killed_and_the_others_go_on(duckrow: SlurmDuckrow) -> None:
    words = ["--on", "slurm", "--parallel-runs", "2", "--max-jobs", "1", "--file", "-"]
    duckrow("submit", *words, stdin="sleep 600\nuntil test -e go; do sleep 0.1; done\nsleep 600\n")
    until(lambda: duckrow("ls") and duckrow.states()[:2] == ["running", "running"], "two to run")
    duckrow("kill", "1", "3")
    (duckrow.work / "go").touch()
    assert duckrow("wait", "1-3", ok=False).returncode == 1
    assert duckrow.states() == ["killed", "succeeded", "killed"]
    assert duckrow.sql("SELECT count(*) FROM attempts WHERE job_id = 3") == [(0,)]


def test_runs_that_failed_run_again_in_their_batch_and_only_those(duckrow: SlurmDuckrow) -> None:
    (duckrow.work / "list").write_text("echo x >> tries; test -e there\ntrue\n")
    duckrow("run", "--on", "slurm", "list", ok=False)
    assert duckrow.states() == ["failed", "succeeded"]
    duckrow("rerun", "--failed", "1-2")
    duckrow("wait", "1-2", ok=False)
    assert len(duckrow.lines("tries")) == 2
    (duckrow.work / "there").touch()
    assert "1 succeeded" in duckrow("run", "--on", "slurm", "--resume", "list").stderr
    assert duckrow.states() == ["succeeded", "succeeded"]
    assert [row[0] for row in duckrow.sql("SELECT outcome FROM attempts WHERE job_id = 1")][-1] == "succeeded"
    assert duckrow.sql("SELECT attempts FROM jobs") == [(3,), (1,)]
    assert "all of its runs have succeeded" in duckrow("run", "--on", "slurm", "--resume", "list").stderr
    refused = duckrow("run", "--on", "slurm", "--resume=nosuch", ok=False)
    assert "There is no batch 'nosuch' to resume" in refused.stderr


def test_a_run_that_failed_runs_again_in_the_slurm_job_that_still_runs_others(duckrow: SlurmDuckrow) -> None:
    words = ["--on", "slurm", "--parallel-runs", "2", "--max-jobs", "1", "--file", "-"]
    duckrow("submit", *words, stdin="test -e there\nuntil test -e go; do sleep 0.1; done\n")
    duckrow("wait", "1", ok=False)
    assert duckrow.states()[0] == "failed"
    (duckrow.work / "there").touch()
    duckrow("rerun", "1")
    duckrow("wait", "1")
    (duckrow.work / "go").touch()
    duckrow("wait", "2")
    assert duckrow.states() == ["succeeded"] * 2
    assert duckrow.sql("SELECT count(*) FROM attempts WHERE job_id = 2") == [(1,)]  # nothing has happened to it


def test_retries_and_time_limits_of_runs_hold_in_a_slurm_job(duckrow: SlurmDuckrow) -> None:
    commands = "echo x >> tries; exit 1\nsleep 600\n"
    words = ["--retries", "1", "--backoff", "0s", "--timeout", "1s", "--grace", "1s"]
    duckrow("run", "--on", "slurm", *words, stdin=commands, ok=False)
    assert duckrow.states() == ["failed", "timed-out"]
    assert len(duckrow.lines("tries")) == 2


def test_a_refusal_is_told_as_slurm_said_it_and_nothing_is_left(duckrow: SlurmDuckrow) -> None:
    refused = duckrow("run", "--on", "slurm", "--partition", "nowhere", stdin="true\n", ok=False)
    assert refused.returncode == 2
    assert "invalid partition specified: nowhere" in refused.stderr
    assert "--partition=nowhere" in refused.stderr
    assert duckrow.states() == []
    assert "no batch" in duckrow("batches").stderr


def test_a_dry_run_prints_the_script_and_submits_nothing(duckrow: SlurmDuckrow) -> None:
    duckrow.settings('[engines.slurm.horeka]\npartition = "dev"\nsetup = ["module load cuda"]\n')
    words = [
        "--on",
        "horeka",
        "--time",
        "2h",
        "--gres",
        "gpu:4",
        "--runs-per-job",
        "8",
        "--sbatch=--hint=compute_bound",
    ]
    script = duckrow("run", *words, "--dry-run", stdin="true\n" * 20).stdout
    for line in ("--partition=dev", "--time=0-02:00:00", "--gres=gpu:4", "--array=0-2", "--hint=compute_bound"):
        assert f"#SBATCH {line}\n" in script
    assert re.search(r"\nmodule load cuda\nexec .*python\S* -m duckrow.scheduler.pilot ", script)
    assert not (duckrow.work / ".duckrow-slurm").exists()


def test_runs_get_the_modules_and_the_container_that_the_settings_name(duckrow: SlurmDuckrow) -> None:
    if not os.path.exists("/usr/share/modules/init/bash"):
        assert not os.environ.get("CI"), "CI must have modules: .ci/run installs them"
        pytest.skip("there is no `module` here (Debian: apt install environment-modules)")
    (duckrow.work / "modules").mkdir()
    (duckrow.work / "modules" / "cuda").write_text("#%Module\nsetenv FROM_MODULE yes\n")
    stand_in = duckrow.work / "bin" / "apptainer"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\necho "$5 $6" >> images\nshift 6\nIN_CONTAINER=yes exec "$@"\n')
    stand_in.chmod(0o755)
    duckrow.env |= {"MODULEPATH": f"{duckrow.work}/modules", "PATH": f"{stand_in.parent}:{os.environ['PATH']}"}
    duckrow.settings(f'{SETTINGS}modules = ["cuda"]\ncontainer = "image.sif"\npython = "{sys.executable}"\n')
    duckrow("run", "--on", "slurm", "--", "echo $FROM_MODULE $IN_CONTAINER 'a b'")
    assert duckrow("logs", "1").stdout == "yes yes a b\n"
    assert duckrow("show", "1", "--json").stdout.count("apptainer") == 0  # what was asked for is shown


def test_another_login_node_sees_the_same_runs(duckrow: SlurmDuckrow, cluster: Cluster) -> None:
    duckrow("submit", "--on", "slurm", "-n", "shared", "--file", "-", stdin="sleep 1\necho two\n")
    elsewhere = SlurmDuckrow(duckrow.home.parent / "other", duckrow.work)
    elsewhere.env = {**duckrow.env, "DUCKROW_HOME": str(elsewhere.home)}
    assert "shared" in elsewhere("batches", ".duckrow-slurm/shared").stdout
    elsewhere("wait", "1-2")
    assert elsewhere.states() == ["succeeded"] * 2
    assert elsewhere("logs", "2").stdout == "two\n"


def test_the_daemon_leaves_runs_on_a_cluster_alone_and_its_jobs_may_wait_for_them(duckrow: SlurmDuckrow) -> None:
    duckrow("submit", "--on", "slurm", "--", "until test -e go; do sleep 0.1; done")
    until(lambda: duckrow("ls") and duckrow.states() == ["running"], "it to run")
    duckrow.up("--slots", "1")
    duckrow("submit", "--after", "1", "--", "true")
    duckrow("submit", "--", "true")
    duckrow("wait", "3")
    assert duckrow.states() == ["running", "queued", "succeeded"]
    (duckrow.work / "go").touch()
    duckrow("wait", "1-2")
    assert duckrow.states() == ["succeeded"] * 3


def test_one_command_behind_dashes_is_one_run(duckrow: SlurmDuckrow) -> None:
    duckrow("run", "--on", "slurm", "--", "echo", "a b")
    assert duckrow("logs", "1").stdout == "a b\n"


def test_slurm_jobs_that_cannot_begin_are_told_and_not_submitted_for_ever(duckrow: SlurmDuckrow) -> None:
    duckrow.settings('[engines.slurm]\nsetup = ["exit 3"]\n')
    done = duckrow("run", "--on", "slurm", stdin="true\n", ok=False)
    assert done.returncode == 1
    assert "ended before they could do anything" in done.stderr
    assert len(os.listdir(duckrow.batch() / "submitted")) == 1


def test_runs_on_a_cluster_cannot_be_changed_and_that_is_said(duckrow: SlurmDuckrow) -> None:
    duckrow("submit", "--on", "slurm", "--partition", "main", "--sbatch=--begin=now+1hour", "--", "true")
    for words in (["move", "1", "--first"], ["edit", "1", "--gpus", "2"], ["rm", "1"]):
        refused = duckrow(*words, ok=False)
        assert refused.returncode == 2
        assert "but not change it" in refused.stderr
    assert "waits for a SLURM job" in duckrow("why", "1").stdout
    duckrow("kill", "1")
    assert duckrow.states() == ["killed"]


def test_the_lines_of_a_script_for_sbatch_are_not_those_of_the_slurm_job_that_runs_it(duckrow: SlurmDuckrow) -> None:
    lines = "#!/bin/bash\n#SBATCH --output=out-%j --partition=nowhere --array=1-3\n"
    (duckrow.work / "sl.sh").write_text(lines + 'echo "$SLURM_JOB_ID ${SLURM_NODELIST:+node}"\n')
    done = duckrow("submit", "--on", "slurm", "--wait", "sl.sh")
    assert (done.stdout, done.stderr) == (
        "1\n",
        "duckrow: The script's #SBATCH lines were not used. With --on, write them as options: --partition, --time\n",
    )
    slurm_job, node = duckrow("logs", "1").stdout.split()
    assert (slurm_job.isdigit(), node) == (True, "node")
    assert not list(duckrow.work.glob("out-*"))
