"""Files of the database that were removed or replaced: what is seen of it, and by whom."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.errors import StateError
from duckrow.store.folder.host_lock import is_alive, lost_its_database
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite import before_opening, database_lock
from duckrow.store.sqlite.database import Database
from duckrow.store.sqlite.database_files import missing_bytes
from tests.store.shelf import Shelf

BE_A_HOST = """
import sys
from duckrow.store.sqlite import database_lock
from duckrow.store.sqlite.database import Database
from duckrow.store.folder.state_folder import Folder
from duckrow.store.folder.host_lock import sign, try_lock
folder = Folder(sys.argv[1])
database = Database(folder, durable=False)
lock = try_lock(folder, 1)
database_lock.take(folder.database, 1)
sign(lock)
print("host", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def host(folder: Folder) -> Iterator[subprocess.Popen[str]]:
    """Another process that is host 1, and notices nothing."""
    command = [sys.executable, "-c", BE_A_HOST, folder.root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "host\n"
        yield process
        process.kill()


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before_opening, "REPAIR_S", 0.05)


def leave_a_run_folder(folder: Folder) -> None:
    os.makedirs(f"{folder.runs}/default/train/1")


# -- before the database is opened ------------------------------------------------------------------------------------


def test_the_first_queue_of_a_folder_begins_in_silence(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    Database(folder).close()
    assert capfd.readouterr().err == ""


def test_a_queue_that_begins_beside_folders_of_an_old_one_is_said_once(
    folder: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    leave_a_run_folder(folder)
    Database(folder).close()
    assert "this starts a new, empty queue" in capfd.readouterr().err
    Database(folder).close()
    assert capfd.readouterr().err == ""


def test_an_empty_file_beside_folders_of_jobs_is_not_taken_for_a_new_database(folder: Folder) -> None:
    leave_a_run_folder(folder)
    Path(folder.database).touch()
    with pytest.raises(StateError, match="somebody emptied it"):
        Database(folder)
    assert os.path.getsize(folder.database) == 0


def test_an_emptied_database_keeps_its_log(folder: Folder, shelf: Shelf) -> None:
    """SQLite would remove it."""
    shelf.add("echo a")
    leave_a_run_folder(folder)
    os.truncate(folder.database, 0)
    with pytest.raises(StateError, match="somebody emptied it"):
        Database(folder)
    assert os.path.getsize(f"{folder.database}-wal") > 0


def test_a_saved_database_is_pointed_to_until_somebody_decides(folder: Folder) -> None:
    Path(folder.database + before_opening.RESCUED).touch()
    with pytest.raises(StateError, match=f"mv {folder.database}.rescued {folder.database} brings them back"):
        Database(folder)
    assert not os.path.exists(folder.database)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_file_that_is_missing_while_a_host_uses_it_is_not_made_anew(
    folder: Folder, host: subprocess.Popen[str], suffix: str
) -> None:
    os.unlink(folder.database + suffix)
    with pytest.raises(StateError, match=rf"while the daemon \(process {host.pid}\) uses it") as caught:
        Database(folder)
    assert f"{folder.database}{suffix} was removed" in str(caught.value)
    assert not os.path.exists(folder.database + suffix)


# -- who lives --------------------------------------------------------------------------------------------------------


def test_a_host_whose_lock_file_was_removed_is_alive_and_nobody_else_can_be_it(
    folder: Folder, host: subprocess.Popen[str]
) -> None:
    os.unlink(folder.host_lock(1))
    assert is_alive(folder, 1)
    assert database_lock.take(folder.database, 1) is None
    host.kill()
    host.wait()
    assert not is_alive(folder, 1)


def test_a_host_of_a_database_that_was_replaced_is_not_the_host_of_the_new_one(
    folder: Folder, host: subprocess.Popen[str]
) -> None:
    assert lost_its_database(folder, 1) is None
    for suffix in ("", "-wal", "-shm"):
        os.unlink(folder.database + suffix)
    sqlite3.connect(folder.database).execute("CREATE TABLE other (x)").connection.close()
    assert not is_alive(folder, 1)
    assert lost_its_database(folder, 1) == host.pid


def test_asking_who_lives_does_not_undo_the_locks_of_sqlite(folder: Folder, shelf: Shelf) -> None:
    """POSIX: a process that closes any file of a database lets go of all its locks on it."""
    shelf.add("echo a")
    for _ in range(3):
        assert not is_alive(folder, 1)
    # Whoever closes the database last removes its log: so another process must see that we still use it.
    use = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT 1 FROM jobs').fetchall(); c.close()"
    subprocess.run([sys.executable, "-c", use, folder.database], check=True)
    assert os.path.exists(f"{folder.database}-wal")


# -- those who have it open -------------------------------------------------------------------------------------------


def test_who_has_the_database_open_for_long_goes_on_with_the_one_that_has_its_name(
    folder: Folder, shelf: Shelf
) -> None:
    shelf.add("echo a")
    os.rename(folder.database, f"{folder.database}.old")
    for suffix in ("-wal", "-shm"):
        os.unlink(folder.database + suffix)
    other = Database(folder)
    assert shelf.add("echo b") == [1]
    assert Shelf(other).head() == [1]
    other.close()


def test_a_copy_has_all_that_was_committed_also_without_a_name(folder: Folder, shelf: Shelf, tmp_path: Path) -> None:
    shelf.add("echo a", "echo b")
    for suffix in ("", "-wal", "-shm"):
        os.unlink(folder.database + suffix)
    assert shelf.database.save_copy(str(tmp_path / "copy"))
    copy = sqlite3.connect(tmp_path / "copy")
    assert copy.execute("SELECT count(*) FROM jobs").fetchone() == (2,)
    copy.close()


def test_a_database_that_is_cut_short_is_known_by_its_first_page(folder: Folder, shelf: Shelf) -> None:
    shelf.add("echo " + "x" * 10_000)
    assert shelf.database.write_all()
    whole = os.path.getsize(folder.database)
    with open(folder.database, "r+b", buffering=0) as file:
        assert missing_bytes(file.fileno()) == 0
        file.truncate(8192)
        assert missing_bytes(file.fileno()) == whole - 8192
        file.truncate(0)
        assert missing_bytes(file.fileno()) is None
