"""Where other programs have used up what the kernel gives of inotify: duckrow looks for itself, now and then."""

from __future__ import annotations

import os

import pytest

from duckrow.kernel.inotify import Inotify
from tests.conftest import Duckrow
from tests.system.namespaces import needs_namespaces, play
from tests.system.test_lost_files import finish, with_a_job

pytestmark = needs_namespaces


def lose_the_log(duckrow: Duckrow) -> None:
    with pytest.raises(OSError, match="inotify"):
        Inotify()
    _, running, waiting = with_a_job(duckrow)
    (duckrow.home / "duckrow.db-wal").unlink()
    assert "echo ran" in duckrow("ls").stdout
    finish(duckrow, running, waiting)
    duckrow("down")


def test_the_daemon_repairs_its_database(duckrow: Duckrow) -> None:
    play("tests.system.test_without_inotify:lose_the_log", duckrow, inotify=False)


def lose_the_database(duckrow: Duckrow) -> None:
    with_a_job(duckrow)
    (duckrow.home / "duckrow.db").unlink()
    assert "was removed while it was in use" in duckrow("ls", ok=False).stderr


def test_a_lost_database_is_told(duckrow: Duckrow) -> None:
    play("tests.system.test_without_inotify:lose_the_database", duckrow, inotify=False)


def lose_the_journal(duckrow: Duckrow) -> None:
    _, running, waiting = with_a_job(duckrow)
    duckrow.kill_daemon()
    os.unlink(next((duckrow.home / "keepers").iterdir()))
    duckrow.up()
    finish(duckrow, running, waiting)
    duckrow("down")


def test_a_keeper_whose_host_is_dead_writes_its_journal_again(duckrow: Duckrow) -> None:
    play("tests.system.test_without_inotify:lose_the_journal", duckrow, inotify=False)
