"""The install commands of all pages: pip takes them in an environment of its own, from this repository, offline.

What duckrow depends on is there already, as in the environment of the tests. `uv` and `pipx` are not: their commands
are put to pip, which takes the same words.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S
from tests.pages.arounds import AROUND
from tests.pages.reading import ROOT, blocks
from tests.pages.walk import INSTALLS

PYTHON = "bin/python"


def install_commands() -> list[str]:
    return [
        command
        for page in AROUND
        for block in blocks(page)
        if block.is_typed
        for command in block.commands()
        if INSTALLS.search(command)
    ]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that finds all packages of ours, and into which one can install."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=DEADLINE_S)
    (found,) = folder.glob("lib/python*/site-packages")
    (found / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder


def as_words_of_pip(command: str) -> tuple[str, str]:
    """What `uv tool install --force '.[web]'` and the like hand to pip."""
    verb, wanted = re.findall(r"(install|uninstall)(?: --force)? (\S+)$", command)[0]
    return verb, wanted.strip("'")


def pip(environment: Path, *words: str) -> str:
    own = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [environment / PYTHON, "-m", "pip", *words],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_the_pages_install_from_a_clone_is_installed_and_runs(environment: Path) -> None:
    wanted = sorted({as_words_of_pip(command) for command in install_commands()})
    assert {verb for verb, _ in wanted} == {"install", "uninstall"}
    pip(environment, "uninstall", "--yes", *(what for verb, what in wanted if verb == "uninstall"))
    # All at once: most of the time goes into building the package.
    said = pip(environment, "install", "--no-compile", *(what for verb, what in wanted if verb == "install"))
    assert "does not provide the extra" not in said
    version = subprocess.run([environment / "bin/duckrow", "--version"], capture_output=True, text=True, cwd="/")
    assert version.stdout.startswith("duckrow "), version.stderr
    assert list(environment.glob("lib/python*/site-packages/duckrow/cli/main.py"))
