"""What a person typed is done, or refused with the right command: never half done, never ignored."""

from __future__ import annotations

import pytest

from tests.cli.typed.dry_duckrow import DryDuckrow

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
def test_a_program_is_not_taken_for_a_list_of_commands(duckrow: DryDuckrow, name: str, text: str, instead: str) -> None:
    (duckrow.work / name).write_text(text)
    refused = duckrow("run", name, ok=False)
    assert refused.returncode == 2
    assert instead in refused.stderr


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
    duckrow: DryDuckrow, name: str, text: str, words: tuple[str, ...], said: str
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
def test_an_option_that_would_mean_nothing_is_refused(duckrow: DryDuckrow, words: tuple[str, ...], said: str) -> None:
    refused = duckrow("submit", *words, ok=False)
    assert refused.returncode == 2
    assert said in refused.stderr


@pytest.mark.parametrize("option", ["--follow", "--max-failures=2", "--table"])
def test_what_only_a_run_here_could_do_is_refused_for_a_sweep_that_is_queued(duckrow: DryDuckrow, option: str) -> None:
    refused = duckrow("sweep", "echo {x}", "-p", "x", "1", "--submit", option, ok=False)
    assert refused.returncode == 2
    assert f"{option.partition('=')[0]} goes with --run" in refused.stderr


# -- again ----------------------------------------------------------------------------------------------------------


def test_what_failed_runs_again_by_project_and_age_and_what_was_killed_does_not(duckrow: DryDuckrow) -> None:
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


def test_to_resume_everything_leaves_a_project_paused_that_was_paused_by_itself(duckrow: DryDuckrow) -> None:
    duckrow("pause", "--project", "thesis")
    refused = duckrow("resume", ok=False)
    assert (refused.returncode, "duckrow resume --project thesis" in refused.stderr) == (1, True)
    duckrow("pause")
    assert "still paused: thesis" in duckrow("resume").stderr
    assert duckrow.sql("SELECT project FROM pauses") == [("thesis",)]


# -- several GPUs at once -------------------------------------------------------------------------------------------


def test_of_several_gpus_all_are_removed_or_none(duckrow: DryDuckrow) -> None:
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
def test_advice_is_what_one_can_type(duckrow: DryDuckrow, words: tuple[str, ...], said: str) -> None:
    refused = duckrow(*words, ok=False)
    assert (refused.returncode, said in refused.stderr) == (2, True)
