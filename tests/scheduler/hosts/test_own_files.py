"""Somebody removes or replaces the files of a host while it runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from duckrow.kernel.inotify import Inotify
from duckrow.scheduler.hosts import own_files
from duckrow.scheduler.hosts.own_files import FilesLost
from duckrow.store.hosts import DAEMON, ring, try_lock
from duckrow.store.sqlite.before_opening import RESCUED
from duckrow.store.sqlite.database_files import missing_bytes
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, runs, slots


@pytest.fixture
def queue(make_queue: MakeQueue) -> Queue:
    """The files are watched, and nothing is wrong with them."""
    queue = make_queue(slots(2))
    queue.passes(1)
    return queue


def lost(queue: Queue, seconds: float = 5) -> str:
    """What the host says as it steps down."""
    with pytest.raises(FilesLost) as caught:
        queue.passes(seconds)
    return str(caught.value)


def jobs_in(path: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM jobs").fetchone()[0])
    finally:
        connection.close()


# -- what can be made again -----------------------------------------------------------------------------------------


def test_a_bell_that_was_removed_is_made_again_and_rings(queue: Queue) -> None:
    bell = queue.folder.host_fifo(DAEMON)
    os.unlink(bell)
    queue.passes(1)
    assert queue.told.sentences == [f"{bell} was removed or replaced. It was recreated; nothing was lost."]
    state = queue.host().loop.state
    assert not state.woken
    ring(queue.folder, DAEMON)
    queue.host().reactor.wait(0)
    assert state.woken


def test_a_lock_that_was_removed_is_taken_again(queue: Queue) -> None:
    lock = queue.folder.host_lock(DAEMON)
    os.unlink(lock)
    queue.passes(1)
    assert queue.told.sentences == [f"{lock} was removed or replaced. It was recreated; nothing was lost."]
    assert try_lock(queue.folder, DAEMON) is None, "nobody else can be the daemon"


def test_the_files_of_the_host_are_made_again_together(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    shutil.rmtree(queue.folder.hosts)
    queue.passes(1)
    assert sorted(os.path.basename(sentence.split()[0]) for sentence in queue.told.sentences) == sorted(
        [os.path.basename(queue.folder.host_lock(DAEMON)), os.path.basename(queue.folder.host_fifo(DAEMON))]
    )
    assert queue.state(job) == "running"


def test_a_host_that_cannot_make_them_again_tells_once_and_keeps_trying(queue: Queue) -> None:
    shutil.rmtree(queue.folder.hosts)
    Path(queue.folder.hosts).write_text("in the way")
    queue.passes(10)
    assert queue.told.sentences == [f"{queue.folder.hosts} cannot be created again: File exists."]
    os.unlink(queue.folder.hosts)
    queue.passes(2)
    assert os.path.exists(queue.folder.host_fifo(DAEMON))
    assert len(queue.told.sentences) == 3, "its lock and its bell are back"


def test_a_log_of_the_database_that_was_removed_is_made_again_with_all_jobs(queue: Queue) -> None:
    job = queue.add(runs())
    queue.passes(1)
    queue.database.close()  # only the host still has it
    os.unlink(f"{queue.folder.database}-wal")
    queue.passes(3)
    (said,) = queue.told.sentences
    assert said.startswith(f"{queue.folder.database}-wal or -shm was removed or replaced.")
    connection = sqlite3.connect(queue.folder.database)
    assert connection.execute("SELECT id, state FROM jobs").fetchall() == [(job, "running")]
    connection.close()


def test_a_daemon_whose_log_was_removed_writes_into_a_new_one(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    is_log, is_file = [True], own_files._is_file
    monkeypatch.setattr(own_files, "_is_file", lambda fd, path: is_log[0] if fd == 2 else is_file(fd, path))
    monkeypatch.setattr(own_files, "_log_to", written.append)
    queue = make_queue(slots(1))
    queue.passes(1)
    assert not written
    is_log[0] = False
    Path(queue.folder.daemon_log).write_text("")
    queue.passes(1)
    assert written == [queue.folder.daemon_log]
    assert not queue.told.sentences, "nothing is lost by that"


def test_what_was_removed_before_the_kernel_was_asked_to_tell_is_found_within_a_second(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(1))
    os.unlink(queue.folder.host_fifo(DAEMON))
    queue.passes(1)
    assert len(queue.told.sentences) == 1


def test_a_host_that_ends_at_once_has_not_asked_the_kernel_to_tell(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Inotify] = []

    def ask() -> Inotify:
        asked.append(Inotify())
        return asked[-1]

    monkeypatch.setattr(own_files, "Inotify", ask)
    queue = make_queue(slots(1))
    queue.passes(0.5)
    assert not asked
    queue.passes(1)
    assert len(asked) == 1


def test_without_the_kernel_telling_the_host_looks_every_second(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_many() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(own_files, "Inotify", too_many)
    queue = make_queue(slots(1))
    queue.passes(5)
    assert not queue.told.sentences
    os.unlink(queue.folder.host_fifo(DAEMON))
    queue.passes(1)
    assert len(queue.told.sentences) == 1


def test_files_that_are_none_of_the_hosts_make_it_look_at_nothing(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    files = queue.host().loop._own_files
    monkeypatch.setattr(files, "look", lambda: looks.append(1))
    Path(queue.folder.root, "notes.txt").write_text("mine")
    queue.passes(5)
    assert not looks
    os.unlink(queue.folder.host_fifo(DAEMON))
    queue.passes(5)
    assert looks == [1]


# -- what cannot ----------------------------------------------------------------------------------------------------


def test_a_host_whose_database_was_removed_saves_the_jobs_and_steps_down(queue: Queue) -> None:
    for _ in range(2):
        queue.add(runs())
    queue.passes(1)
    path = queue.folder.database
    os.unlink(path)
    said = lost(queue)
    assert said.startswith(f"The database {path} was removed while this process used it: it steps down.")
    assert " 2 running jobs keep running. All jobs were saved: " in said
    assert jobs_in(path + RESCUED) == 2
    assert [order for order in queue.orders() if not order.startswith("start")] == [], "no job was touched"
    lock = try_lock(queue.folder, DAEMON)
    assert lock is not None, "another process can be the daemon now"
    os.close(lock)


def test_one_job_keeps_running_in_the_singular(queue: Queue) -> None:
    queue.add(runs())
    queue.passes(1)
    os.unlink(queue.folder.database)
    assert " 1 running job keeps running. " in lost(queue)


def test_a_host_whose_database_was_replaced_does_not_write_into_the_new_one(queue: Queue) -> None:
    path = queue.folder.database
    shutil.copy(path, f"{path}-new")
    os.replace(f"{path}-new", path)
    before = Path(path).read_bytes()
    assert lost(queue).startswith(f"The database {path} was replaced while")
    assert Path(path).read_bytes() == before


def test_a_host_whose_folder_was_removed_does_not_make_it_again(queue: Queue) -> None:
    shutil.rmtree(queue.folder.root)
    said = lost(queue)
    assert said.startswith(f"The state folder {queue.folder.root} was removed or replaced while")
    assert said.endswith("it steps down. Its jobs are forgotten.")
    assert not os.path.exists(queue.folder.root)


def test_a_host_whose_database_was_emptied_steps_down(queue: Queue) -> None:
    os.truncate(queue.folder.database, 0)
    assert "was emptied or overwritten while this process used it" in lost(queue)


def test_a_database_that_is_short_for_a_moment_is_only_being_written(queue: Queue) -> None:
    path = queue.folder.database
    whole = Path(path).read_bytes()
    size = os.path.getsize(path)
    os.truncate(path, size - 4096)
    queue.passes(0.5)
    with open(path, "r+b") as file:
        file.seek(size - 4096)
        file.write(whole[size - 4096 :])
    queue.passes(5)
    assert not queue.told.sentences
    os.truncate(path, size - 4096)
    assert f"The database {path} was cut short while" in lost(queue)


def test_a_database_whose_last_pages_are_only_in_its_log_is_whole(queue: Queue) -> None:
    """A checkpoint leaves them there if somebody reads what was there before."""
    path = queue.folder.database
    writer, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    writer.execute("CREATE TABLE notes (text)")
    writer.executemany("INSERT INTO notes VALUES (?)", [("x" * 1000,)] * 10)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM notes").fetchall()
    writer.execute("UPDATE notes SET text = text || 'y' WHERE rowid = 10")
    writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
    with open(path, "rb") as file:
        assert missing_bytes(file.fileno())
    queue.host().loop._own_files.look()
    queue.passes(5)
    assert not queue.told.sentences
    reader.close()
    writer.close()


def test_a_log_of_the_database_that_others_have_written_is_not_taken_for_ours(queue: Queue) -> None:
    wal = f"{queue.folder.database}-wal"
    queue.database.close()
    os.unlink(wal)
    Path(wal).write_bytes(b"by another program")
    assert f"{wal} was replaced by one that others have written while" in lost(queue)
