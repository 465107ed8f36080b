"""The keeper: what a dead host's attempts leave is written down, whatever happens to the journal meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.engines.local.keeper.journal import JournalWriter, read_journal
from duckrow.engines.local.keeper.keeper import keep_own_children
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.kernel.inotify import FileWatch

ATTEMPT = 7


def keep_one_child(journal: JournalWriter, argv: list[str]) -> None:
    """In a process of its own, which ends when its child has ended: a keeper lets go of the terminal."""
    keeper = os.fork()
    if keeper == 0:
        try:
            link = object.__new__(KeeperLink)  # all that a keeper asks of it
            link.journal, link.pipes = journal, {}
            journal.begin([ATTEMPT])
            journal.started(ATTEMPT, os.posix_spawn(argv[0], argv, os.environ, setsid=True))
            keep_own_children(link)
        finally:
            os._exit(70)
    os.waitpid(keeper, 0)


def test_a_journal_that_is_moved_away_before_it_is_watched_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keepers").mkdir()
    journal = JournalWriter(str(tmp_path / "keepers"))
    watch: Callable[[FileWatch, str], None] = FileWatch.add

    def move_first(self: FileWatch, path: str) -> None:
        if not (tmp_path / "elsewhere").exists():
            os.rename(path, tmp_path / "elsewhere")
        watch(self, path)

    monkeypatch.setattr(FileWatch, "add", move_first)
    keep_one_child(journal, ["/bin/sh", "-c", "exit 21"])
    assert read_journal(journal.path).of(ATTEMPT).wait_status == 21 << 8
    os.close(journal.fd)


def test_a_host_that_had_starters_becomes_a_keeper_too(tmp_path: Path) -> None:
    journal = JournalWriter(str(tmp_path))
    journal.share(lambda: None)
    keep_one_child(journal, ["/bin/sh", "-c", "exit 21"])
    read = read_journal(journal.path)
    assert read.of(ATTEMPT).wait_status == 21 << 8
    assert not read.has_starters
    os.close(journal.fd)
