"""What a person typed is done, or refused with the right command: never half done, never ignored."""

from __future__ import annotations

import signal

import pytest

from tests.conftest import Duckrow, until
from tests.system.test_run import said, start_interruptible

# -- programs where a list of commands is expected ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "instead"),
    [
        ("train.py", "import torch\n", "duckrow run -- python train.py"),
        ("train", "#!/usr/bin/env python3\nprint(1)\n", "duckrow run -- python train"),
        ("loop.sh", "#!/bin/sh\necho a\necho b\n", "duckrow run -- sh loop.sh"),
        ("loop.sh", "for lr in 1 2; do\n  echo $lr\ndone\n", "duckrow run -- sh loop.sh"),
        ("loop.sh", "train() {\n  echo\n}\n", "duckrow run -- sh loop.sh"),
    ],
    ids=["python", "python by #!", "shell by #!", "a loop", "a function"],
)
def test_a_program_is_not_taken_for_a_list_of_commands(duckrow: Duckrow, name: str, text: str, instead: str) -> None:
    (duckrow.work / name).write_text(text)
    refused = duckrow("run", name, ok=False)
    assert refused.returncode == 2
    assert instead in refused.stderr


def test_a_list_of_commands_may_be_called_as_it_likes(duckrow: Duckrow) -> None:
    (duckrow.work / "commands.sh").write_text("# my runs\nfor i in 1 2; do echo $i; done\nif true; then echo x; fi\n")
    assert "2 succeeded" in duckrow("run", "commands.sh").stderr


@pytest.mark.parametrize(
    ("name", "text", "words", "said"),
    [
        ("other.sh", "", ("nothere.sh",), "There is no file nothere.sh in this folder"),
        ("train.sh", "echo hi\n", ("train.sh", "--lr", "0.1"), "duckrow submit -- sh train.sh --lr 0.1"),
        ("train.py", "print(1)\n", ("train.py",), "duckrow submit -- python train.py"),
    ],
    ids=["no such file", "no interpreter", "a Python program"],
)
def test_a_script_that_cannot_run_is_refused(
    duckrow: Duckrow, name: str, text: str, words: tuple[str, ...], said: str
) -> None:
    (duckrow.work / name).write_text(text)
    refused = duckrow("submit", *words, ok=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr


# -- options that would be ignored ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--if-broken", "wait", "--", "true"), "--after 12"),
        (("--delimiter", "%%", "--", "true"), "duckrow submit --file jobs.txt --delimiter %%"),
        (("--timeout", "0", "--", "true"), "A time limit of 0 would stop the job at once"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_an_option_that_would_mean_nothing_is_refused(duckrow: Duckrow, words: tuple[str, ...], said: str) -> None:
    refused = duckrow("submit", *words, ok=False)
    assert refused.returncode == 2
    assert said in refused.stderr


@pytest.mark.parametrize("option", ["--follow", "--max-failures=2", "--table"])
def test_what_only_a_run_here_could_do_is_refused_for_a_sweep_that_is_queued(duckrow: Duckrow, option: str) -> None:
    refused = duckrow("sweep", "echo {x}", "-p", "x", "1", "--submit", option, ok=False)
    assert refused.returncode == 2
    assert f"{option.partition('=')[0]} goes with --run" in refused.stderr


# -- all of them ----------------------------------------------------------------------------------------------------


def test_all_jobs_are_those_of_runs_too(duckrow: Duckrow) -> None:
    run, _ = start_interruptible(duckrow)
    assert duckrow("wait", "--all", "--timeout", "0.1", ok=False).returncode == 124
    assert "stopping 10 jobs" in duckrow("kill", "--all").stderr
    run.communicate()
    assert run.returncode == 1
    assert duckrow.sql("SELECT DISTINCT outcome FROM jobs") == [("killed",)]


def test_what_an_interrupted_run_has_left_is_not_waited_for_and_can_be_ended(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    run.send_signal(signal.SIGINT)
    said(run, "starting nothing more")
    gate.touch()
    run.communicate()
    assert run.returncode == 130
    assert "not waiting for 8 jobs of a run that has ended" in duckrow("wait", "--all").stderr
    assert "the daemon is not running" not in duckrow("ls").stderr
    duckrow("kill", "--all")
    until(lambda: not duckrow.sql("SELECT 1 FROM jobs WHERE state <> 'done'"), "the end of what was left")


# -- again ----------------------------------------------------------------------------------------------------------


def test_what_failed_runs_again_by_project_and_age_and_what_was_killed_does_not(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    old, bad, other = (duckrow.submit("-p", project, "false") for project in ("thesis", "thesis", "paper"))
    for job in (old, bad, other):
        duckrow.wait_for(job, "failed")
    duckrow.sql("UPDATE jobs SET created_at = created_at - 86400 WHERE id = ?", old)
    killed = duckrow.submit("-p", "thesis", "sleep 600")
    duckrow("kill", str(killed))
    duckrow.wait_for(killed, "killed")
    words = ("rerun", "--failed", "-p", "thesis", "--since", "1h")
    assert f"1 job would run again: {bad} (false, failed)." in duckrow(*words, "--dry-run").stderr
    assert duckrow.state(bad) == "failed"
    assert f"1 job is back in the queue: {bad} (false, failed)." in duckrow(*words).stderr
    refused = duckrow("rerun", str(bad), "--since", "1h", ok=False)
    assert (refused.returncode, "--since goes with --failed" in refused.stderr) == (2, True)


def test_to_resume_everything_leaves_a_project_paused_that_was_paused_by_itself(duckrow: Duckrow) -> None:
    duckrow("pause", "--project", "thesis")
    refused = duckrow("resume", ok=False)
    assert (refused.returncode, "duckrow resume --project thesis" in refused.stderr) == (2, True)
    duckrow("pause")
    assert "still paused: thesis" in duckrow("resume").stderr
    assert duckrow.sql("SELECT project FROM pauses") == [("thesis",)]


# -- several GPUs at once -------------------------------------------------------------------------------------------


def test_of_several_gpus_all_are_removed_or_none(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    refused = duckrow("gpus", "remove", "0", "7", ok=False)
    assert (refused.returncode, refused.stderr) == (2, "duckrow: The daemon has no GPU 7. It has: 0, 1.\n")
    assert duckrow.sql("SELECT * FROM device_wishes") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("submit", "--time", "2h", "--", "true"), "For a time limit here: --timeout 2h."),
        (("sweep", "f {lr}", "-p", "lr=0.1,0.01"), "as in -p lr 0.1 0.01."),
    ],
    ids=["--time", "-p x=1,2"],
)
def test_advice_is_what_one_can_type(duckrow: Duckrow, words: tuple[str, ...], said: str) -> None:
    refused = duckrow(*words, ok=False)
    assert (refused.returncode, said in refused.stderr) == (2, True)


# -- signals --------------------------------------------------------------------------------------------------------


def test_a_signal_goes_to_those_that_listen_and_the_job_goes_on(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    program = "trap 'echo heard >> heard' USR1; touch ready; until test -e gate; do sleep 0.05; done"
    (duckrow.work / "listens.sh").write_text(f"{program}\n")
    job = duckrow.submit("sh listens.sh; true")  # the shell around it does not listen
    until(lambda: (duckrow.work / "ready").exists(), "the program to listen")
    assert duckrow("kill", "--signal", "USR1", str(job)).stderr == f"duckrow: USR1 sent to job {job}.\n"
    until(lambda: (duckrow.work / "heard").exists(), "the signal to be heard")
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    waiting = duckrow.submit("--hold", "true")
    said = duckrow("kill", "--signal", "10", str(waiting)).stderr
    assert f"job {waiting} is queued: it has no process to signal." in said
    refused = duckrow("kill", "--signal", "WHAT", str(waiting), ok=False)
    assert (refused.returncode, "'WHAT' is not a signal. Write USR1, INT" in refused.stderr) == (2, True)


# -- several GPUs ---------------------------------------------------------------------------------------------------


def test_a_job_of_several_gpus_tells_torchrun_how_many_and_never_over_what_the_user_said(duckrow: Duckrow) -> None:
    shows = "echo $PET_NPROC_PER_NODE $PET_MASTER_PORT $MASTER_PORT > {}"
    jobs = "\n".join(shows.format(name) for name in ("first", "second"))
    duckrow("run", "--devices", "0-3", "--gpus", "2", stdin=jobs)
    told = [(duckrow.work / name).read_text().split() for name in ("first", "second")]
    assert [processes for processes, _, _ in told] == ["2", "2"]
    assert all(port == other for _, port, other in told)
    assert told[0][1] != told[1][1]
    own = {"PET_NPROC_PER_NODE": "7", "MASTER_PORT": "1234"}
    duckrow("run", "--devices", "0,1", "--gpus", "2", stdin=shows.format("own"), env=own)
    processes, _, port = (duckrow.work / "own").read_text().split()
    assert (processes, port) == ("7", "1234")
    duckrow("run", "--devices", "0", stdin=shows.format("one"))
    assert (duckrow.work / "one").read_text() == "\n"
