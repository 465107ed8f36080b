"""`--gpus N` is how many, `--devices` which; each place where people mix them up."""

from __future__ import annotations

import pytest

from tests.conftest import Duckrow


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--gpus", "0", "--", "true"), "For a job without a GPU: --cpu. For GPU number 0: --devices 0."),
        (("run", "--gpus", "0,1", "--", "true"), "To choose which GPUs to use: --devices 0,1."),
        (("run", "--gpus", "0", "1", "2", "list.txt"), "To choose which GPUs to use: --devices 0 1 2."),
        (("run", "--gpus", "all", "list.txt"), "To choose which GPUs to use: --devices all."),
        (("run", "--on", "slurm", "--devices", "0", "list.txt"), "Say what each SLURM job gets: --gres gpu:4."),
        (("run", "--gpus", "two", "--", "true"), "'two' is not a number. Write --gpus 2."),
        (("sweep", "f {x}", "-p", "x", "1", "--run", "--gpus", "0"), "--devices 0."),
        (("submit", "--gpus", "0", "--", "true"), "For GPU number 0: duckrow up --devices 0."),
        (("submit", "--gpus", "0,1", "--", "true"), "duckrow up --devices 0,1."),
        (("edit", "1", "--gpus", "0"), "--cpu"),
        (("rerun", "1", "--gpus", "0"), "--cpu"),
        (("up", "--gpus", "0,1"), "duckrow up --devices 0,1."),
        (("submit", "--gpus", "2", "--cpu", "--", "true"), "Either --gpus 2 or --cpu, not both."),
    ],
    ids=" ".join,
)
def test_who_mixes_them_up_is_told_what_was_meant(duckrow: Duckrow, words: tuple[str, ...], said: str) -> None:
    refused = duckrow(*words, ok=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_a_run_begins_by_saying_what_each_job_gets(duckrow: Duckrow) -> None:
    said = [
        duckrow("run", *words, stdin="true").stderr.splitlines()[0]
        for words in (
            ("--devices", "0-3"),
            ("--devices", "0,1,5", "--gpus", "2"),
            ("--devices", "0+1", "2+3"),
            ("--devices", "0:24G", "--gpu-mem", "1G"),
            ("--devices", "0:24G", "--pack"),
        )
    ]
    assert said == [
        "duckrow: each job: 1 GPU, out of GPUs 0-3.",
        "duckrow: each job: 2 GPUs, out of GPUs 0-1,5.",
        "duckrow: each job: 2 GPUs, out of GPUs 0-3.",
        "duckrow: each job: part of a GPU, by memory, out of GPU 0.",
        "duckrow: each job: 1 GPU, out of GPU 0.",
    ]
    assert "each job" not in duckrow("run", "--slots", "1", stdin="true").stderr


def test_who_packs_where_no_driver_tells_what_jobs_use_is_told(duckrow: Duckrow) -> None:
    told = "duckrow: without a driver, nobody sees what jobs use, so they share no GPU. To share: --gpu-mem 10G\n"
    for words, is_told in ((["--pack"], True), (["--gpu-mem", "auto"], True), (["--gpu-mem", "1G"], False)):
        assert (told in duckrow("run", "--devices", "0:24G", *words, stdin="true").stderr) is is_told


def test_a_job_without_a_gpu_asks_for_a_cpu_slot(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0", "--slots", "1")
    job = duckrow.submit("--cpu", "--", "test -z $CUDA_VISIBLE_DEVICES")
    duckrow.wait_for(job, "succeeded")
    duckrow.submit("--hold", "--gpus", "1", "--", "true")
    duckrow("edit", "2", "--cpu")
    assert duckrow.job(2)["gpus"] == 0


@pytest.mark.parametrize("section", ["run", "daemon"])
def test_the_setting_is_called_devices_and_the_old_name_says_so(duckrow: Duckrow, section: str) -> None:
    refused = duckrow("config", ok=False, env={f"DUCKROW__{section.upper()}__GPUS": "0"})
    assert f"'gpus' in [{section}] is now called 'devices'" in refused.stderr


def test_a_daemon_that_submit_starts_is_not_limited_by_what_the_program_may_see(duckrow: Duckrow) -> None:
    duckrow("submit", "--wait", "--", "true", env={"CUDA_VISIBLE_DEVICES": "7"})
    with open(f"/proc/{duckrow.daemon_pid()}/environ", "rb") as file:
        assert b"CUDA_VISIBLE_DEVICES" not in file.read()
