"""Commands whose output cannot be written, or whose folder is gone: a sentence and an exit code, as a shell sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow

WORDS: dict[str, list[str]] = {"ls": [], "show": [], "why": ["1"]}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Duckrow:
    """A state folder with a finished job and no daemon. Only `submit` changes anything in it."""
    folder: Path = tmp_path_factory.mktemp("refusals")
    duckrow = Duckrow(folder / "state", folder)
    duckrow("run", "--slots", "1", stdin="echo hello\n")
    return duckrow


def said_by(duckrow: Duckrow, verb: str, redirect: str) -> subprocess.CompletedProcess[str]:
    words = [*duckrow.command(verb), *WORDS.get(verb, ["--", "true"])]
    command = ["sh", "-c", f'"$@" {redirect}', "sh", *words]
    return subprocess.run(
        command, env=duckrow.env, cwd=duckrow.work, capture_output=True, text=True, timeout=DEADLINE_S
    )


@pytest.mark.parametrize("verb", ["ls", "submit"])
def test_output_that_cannot_be_written_is_told_in_a_sentence(used: Duckrow, verb: str) -> None:
    done = said_by(used, verb, "> /dev/full")
    used.kill_everything()
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert done.stderr.startswith("duckrow: Cannot write the output: No space left on device.")
    assert ("duckrow ls" in done.stderr) == (verb == "submit")


def test_no_output_at_all_is_told_too_and_no_errors_at_all_do_not_hide_the_exit_code(used: Duckrow) -> None:
    assert said_by(used, "why", ">&-").stderr == "duckrow: Cannot write the output: Bad file descriptor.\n"
    assert said_by(used, "ls", "2>&-").returncode == 0
    assert said_by(used, "ls", "--no-such 2>/dev/full").returncode == 2
    assert said_by(used, "show", "77777 2>/dev/full").returncode == 2


def in_removed_folder(duckrow: Duckrow, *words: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
        "from duckrow.cli.main import main; sys.argv = ['duckrow', *sys.argv[1:]]; main()"
    )
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(
        command,
        env=duckrow.env,
        cwd=duckrow.work,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
    )


def test_a_folder_that_was_removed_keeps_nobody_from_looking(used: Duckrow) -> None:
    done = in_removed_folder(used, "ls")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr


def test_who_needs_the_folder_says_that_it_was_removed(used: Duckrow) -> None:
    done = in_removed_folder(used, "submit", "--", "true")
    used.kill_everything()
    assert done.returncode == 1
    assert done.stderr == "duckrow: The folder that you are in was removed. Change to another one first: cd\n"
