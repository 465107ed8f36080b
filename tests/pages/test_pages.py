"""Every command of README.md and docs/ is typed here as it is written, and what the pages show is what is printed.

The programs that jobs call are stand-ins, and the GPUs are not there: what is tested is what duckrow does.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.fake_nvml.library import library_or_skip
from tests.pages.arounds import AROUND
from tests.pages.machine import can_have_own_network
from tests.pages.reading import Block, blocks, pages_with_commands
from tests.pages.telling import told_by_walk, told_in_scene
from tests.pages.walk import old_lines

WRITE = "Run: python -m tests.pages --write"


def need(program: str, page: str) -> None:
    """A laptop need not have what a page uses; CI must."""
    if any(program in block.body for block in blocks(page)) and not shutil.which(program):
        assert not os.environ.get("CI"), f"CI must have {program}: .ci/run installs it"
        pytest.skip(f"there is no {program} here (Debian: apt install {program})")


@pytest.mark.parametrize("page", AROUND)
def test_a_page_does_and_shows_what_happens(page: str, tmp_path: Path) -> None:
    library_or_skip()
    for program in ("jq", "curl"):
        need(program, page)
    if AROUND[page].has_own_network and not can_have_own_network():
        assert not os.environ.get("CI"), "CI must be root, and have unshare and nsenter of util-linux"
        pytest.skip("a network of its own needs root, and unshare and nsenter of util-linux")
    old = [line for shown, told in told_by_walk(page, tmp_path) for line in old_lines(shown, told)]
    assert not old, "\n".join([*old, WRITE])


SHOWN = [
    pytest.param(page, block, id=f"{page}-{block.scene}") for page in AROUND for block in blocks(page) if block.scene
]


@pytest.mark.parametrize(("page", "block"), SHOWN)
def test_a_block_shows_what_happens_in_its_scene(page: str, block: Block, tmp_path: Path) -> None:
    library_or_skip()
    old = old_lines(block.body, told_in_scene(block, tmp_path))
    assert not old, "\n".join([*old, WRITE])


def test_every_page_with_commands_is_typed() -> None:
    assert set(pages_with_commands()) == set(AROUND)
