"""Commands whose output cannot be written, or whose folder is gone: a sentence and an exit code, whatever the verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from duckrow.cli.main import run_cli
from tests.cli.typed.dry_duckrow import DryDuckrow

WORDS = {
    "ls": [], "show": ["1"], "logs": ["1"], "why": ["1"], "config": [], "doctor": [], "--help": [],
}  # fmt: skip


@pytest.fixture
def used(duckrow: DryDuckrow) -> DryDuckrow:
    """A state folder with a finished job and no daemon."""
    duckrow.up("--slots", "1")
    duckrow("submit", "--wait", "echo hello")
    duckrow("down")
    return duckrow


@contextmanager
def full_disk() -> Iterator[None]:
    """Standard output is a file on a full disk."""
    file = open("/dev/full", "w")  # noqa: SIM115 - closing it fails
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        yield
    with suppress(OSError):
        file.close()


@pytest.mark.parametrize("verb", [*WORDS, "submit"])
def test_output_that_cannot_be_written_is_told_in_a_sentence(
    used: DryDuckrow, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_disk():
        assert run_cli([verb, *WORDS.get(verb, ["--", "true"])]) == 1
    told = capsys.readouterr().err
    assert told.startswith("duckrow: Cannot write the output: No space left on device.")
    assert ("duckrow ls" in told) == (verb == "submit")


@pytest.fixture
def removed(used: DryDuckrow, monkeypatch: pytest.MonkeyPatch) -> DryDuckrow:
    """The folder that we are in does not exist any more."""
    folder = Path(used.work, "gone")
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    return used


@pytest.mark.parametrize("verb", WORDS)
def test_a_folder_that_was_removed_keeps_nobody_from_looking(removed: DryDuckrow, verb: str) -> None:
    assert removed(verb, *WORDS[verb], ok=False).returncode == 0
    with pytest.raises(FileNotFoundError):
        os.getcwd()


@pytest.mark.parametrize(
    "words",
    [
        ("submit", "--", "true"),
        ("run", "--slots", "1", "--", "true"),
        ("run", "--slots", "1"),
        ("sweep", "train {lr}", "-p", "lr", "1", "--submit"),
        ("batches",),
    ],
)
def test_who_needs_the_folder_says_that_it_was_removed(removed: DryDuckrow, words: tuple[str, ...]) -> None:
    done = removed(*words, ok=False)
    assert done.returncode == 1
    assert done.stderr == "duckrow: The folder that you are in was removed. Change to another one first: cd\n"
