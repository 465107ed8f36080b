"""The state folder belongs to another user: what is said is right for how that came to be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow
from tests.other_users import NOBODY, as_user, needs_other_users

pytestmark = needs_other_users


def as_nobody(duckrow: Duckrow, *words: str, **env: str) -> str:
    """What duckrow says to another user, who has nothing but this environment."""
    surroundings = {"PATH": os.environ["PATH"], "NO_COLOR": "1", **env}
    done = subprocess.run(
        [*as_user(NOBODY), *duckrow.command(*words)],
        env=surroundings, cwd="/", capture_output=True, text=True, timeout=DEADLINE_S,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    return done.stderr + done.stdout


@pytest.fixture
def open_to_all(tmp_path: Path) -> Path:
    """Let others reach what is in it."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    return tmp_path


def test_duckrow_home_that_is_somebody_elses(duckrow: Duckrow, open_to_all: Path) -> None:
    duckrow("ls")
    said = as_nobody(duckrow, "ls", DUCKROW_HOME=str(duckrow.home), HOME="/nonexistent")
    assert said.endswith(
        f" {duckrow.home} belongs to another user (root). "
        "DUCKROW_HOME leads there: unset it, or set it to your own folder.\n"
    )


def test_a_home_that_is_somebody_elses(duckrow: Duckrow, open_to_all: Path) -> None:
    state = open_to_all / ".local/state/duckrow"
    state.mkdir(parents=True)
    said = as_nobody(duckrow, "ls", HOME=str(open_to_all))
    assert said == (
        f"duckrow: {state} belongs to another user (root). HOME leads there: set it, or DUCKROW_HOME, to your own "
        "folder.\n"
    )


def test_a_folder_in_our_own_home_that_sudo_has_made_is_taken_back(duckrow: Duckrow, open_to_all: Path) -> None:
    home = open_to_all / "home"
    state = home / ".local/state/duckrow"
    state.mkdir(parents=True)
    os.chown(home, NOBODY, NOBODY)
    advice = f"Was duckrow run with sudo? Make it yours again: sudo chown -R nobody: {state}"
    said = as_nobody(duckrow, "ls", HOME=str(home))
    assert said == f"duckrow: {state} belongs to another user (root). {advice}\n"
    assert advice in as_nobody(duckrow, "doctor", HOME=str(home))
