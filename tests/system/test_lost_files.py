"""Somebody removes or replaces files of the state folder while a daemon or a run has them open."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Duckrow, is_running, until

AT_ONCE_S = 15.0  # far less than the 30 s that SQLite waits for a lock, also on a busy machine
GATED = "while [ ! -e gate ]; do sleep 0.01; done; exit 3"


def with_a_job(duckrow: Duckrow) -> tuple[int, int, int]:
    """A daemon, a job that runs until there is a gate, and one that waits behind it."""
    pid = duckrow.up("--slots", "1")
    running, waiting = duckrow.submit("--", GATED), duckrow.submit("--", "echo ran >> out")
    duckrow.wait_for(running, "running")
    return pid, running, waiting


def finish(duckrow: Duckrow, running: int, waiting: int) -> None:
    """Both jobs end as they should, each once."""
    (duckrow.work / "gate").touch()
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.job(running)["exit_code"] == 3
    assert (duckrow.work / "out").read_text() == "ran\n"


def problems(duckrow: Duckrow) -> str:
    findings = json.loads(duckrow("doctor", "--json", ok=False).stdout)
    return "\n".join(each["found"] for each in findings if each["level"] == "problem")


def said(duckrow: Duckrow) -> str:
    return (duckrow.home / "daemon.log").read_text()


def replace(path: Path) -> None:
    path.unlink()
    path.touch()


@contextmanager
def a_run(duckrow: Duckrow, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """One command in the foreground; what it says is in the file `said`."""
    (duckrow.work / "jobs").write_text(f"{command}\n")
    with (duckrow.work / "said").open("wb") as said:
        run = duckrow.spawn("run", "--slots", "1", "jobs", stderr=said)
    try:
        yield run
    finally:
        run.kill()
        run.wait()


# -- the database -----------------------------------------------------------------------------------------------------


def remove_all_of_it(home: Path) -> None:
    for path in home.glob("duckrow.db*"):
        path.unlink()


@pytest.mark.parametrize(
    "lose",
    [
        lambda home: (home / "duckrow.db").unlink(),
        remove_all_of_it,
        lambda home: os.truncate(home / "duckrow.db", 0),
    ],
    ids=["removed", "removed-with-its-log", "emptied"],
)
def test_a_lost_database_is_told_at_once_and_saved_with_all_jobs(
    duckrow: Duckrow, lose: Callable[[Path], object]
) -> None:
    pid, running, waiting = with_a_job(duckrow)
    lose(duckrow.home)
    for words in (["ls"], ["submit", "--", "true"], ["up"], ["down"]):
        refused = duckrow(*words, ok=False, limit_s=AT_ONCE_S)
        assert refused.returncode == 1, words
        assert "was removed while it was in use" in refused.stderr
        assert f"mv {duckrow.home}/duckrow.db.rescued {duckrow.home}/duckrow.db" in refused.stderr
    until(lambda: not is_running(pid), "the daemon to stand down")
    assert "it steps down. 1 running job keeps running." in said(duckrow)
    assert "it was saved" in problems(duckrow)
    os.replace(duckrow.home / "duckrow.db.rescued", duckrow.home / "duckrow.db")
    duckrow.up()
    finish(duckrow, running, waiting)


def test_a_rescued_database_that_nobody_wants_gives_way_to_a_new_queue(duckrow: Duckrow) -> None:
    pid, *_ = with_a_job(duckrow)
    (duckrow.home / "duckrow.db").unlink()
    until(lambda: not is_running(pid), "the daemon to stand down")
    (duckrow.home / "duckrow.db.rescued").unlink()
    began = duckrow("ls")
    assert "this starts a new, empty queue" in began.stderr
    assert "new, empty queue" not in duckrow("ls").stderr
    duckrow.wait_for(duckrow.submit("--", "true"), "succeeded")


def test_a_database_that_was_moved_away_as_told_gives_way_to_a_new_queue(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", stdin="echo old\n")
    remove_all_of_it(duckrow.home)
    database = duckrow.home / "duckrow.db"
    database.write_bytes(b"notes" * 1000)
    assert "is damaged" in duckrow("ls", ok=False, limit_s=AT_ONCE_S).stderr
    database.rename(duckrow.home / "duckrow.db.damaged")
    assert "this starts a new, empty queue" in duckrow("submit", "--", "true").stderr
    duckrow.wait_for(1, "succeeded")


def test_a_database_that_is_put_in_the_place_of_ours_is_left_alone(duckrow: Duckrow, tmp_path: Path) -> None:
    pid, *_ = with_a_job(duckrow)
    other = Duckrow(tmp_path / "other", duckrow.work)
    other("ls")
    foreign = (other.home / "duckrow.db").read_bytes()
    os.replace(other.home / "duckrow.db", duckrow.home / "duckrow.db")
    for name in ("duckrow.db-wal", "duckrow.db-shm"):
        (duckrow.home / name).unlink(missing_ok=True)
    until(lambda: not is_running(pid), "the daemon to stand down")
    assert "was replaced while this process used it" in said(duckrow)
    assert (duckrow.home / "duckrow.db").read_bytes() == foreign
    assert "No jobs yet" in duckrow("ls").stderr
    copy = sqlite3.connect(duckrow.home / "duckrow.db.rescued")
    assert copy.execute("SELECT count(*) FROM jobs").fetchone() == (2,)
    copy.close()


@pytest.mark.parametrize("names", [["-wal"], ["-shm"], ["-wal", "-shm"]], ids=lambda names: "".join(names))
def test_a_removed_log_of_the_database_is_made_again_and_nothing_is_lost(duckrow: Duckrow, names: list[str]) -> None:
    pid, running, waiting = with_a_job(duckrow)
    for name in names:
        (duckrow.home / f"duckrow.db{name}").unlink()
    listed = duckrow("ls", limit_s=AT_ONCE_S)
    assert "1 queued, 1 running" in listed.stderr
    third = duckrow.submit("--", "true")
    finish(duckrow, running, waiting)
    duckrow.wait_for(third, "succeeded")
    assert "nothing was lost" in said(duckrow)
    assert duckrow.sql("PRAGMA integrity_check") == [("ok",)]
    assert duckrow.daemon_pid() == pid
    assert is_running(pid)
    assert problems(duckrow) == ""


@pytest.mark.parametrize("name", ["duckrow.db", "duckrow.db-wal"])
def test_what_a_host_that_does_not_answer_has_lost_is_told(duckrow: Duckrow, name: str) -> None:
    pid, running, waiting = with_a_job(duckrow)
    os.kill(pid, signal.SIGSTOP)
    try:
        shutil.copy(duckrow.home / name, duckrow.work / "copy")
        (duckrow.home / name).unlink()
        for words in (["ls"], ["up"]):
            refused = duckrow(*words, ok=False, limit_s=AT_ONCE_S)
            assert refused.returncode == 1
            assert f"{name} was removed or emptied while the daemon (process {pid}) uses it" in refused.stderr
        assert f"{name} was removed or emptied while the daemon (process {pid}) uses it" in problems(duckrow)
    finally:
        os.kill(pid, signal.SIGCONT)
    if name == "duckrow.db-wal":
        until(lambda: "nothing was lost" in said(duckrow), "the repair")
    else:
        until((duckrow.home / "duckrow.db.rescued").exists, "the rescue")
        until(lambda: not is_running(pid), "the daemon to stand down")
        os.replace(duckrow.home / "duckrow.db.rescued", duckrow.home / "duckrow.db")
        duckrow.up()
    finish(duckrow, running, waiting)


def test_a_database_that_was_emptied_while_nobody_used_it_is_told(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", stdin="echo a\n")
    remove_all_of_it(duckrow.home)
    (duckrow.home / "duckrow.db").touch()
    for words in (["ls"], ["up"]):
        refused = duckrow(*words, ok=False, limit_s=AT_ONCE_S)
        assert refused.returncode == 1
        assert "somebody emptied it" in refused.stderr
    assert "is empty, but there are folders of earlier jobs" in problems(duckrow)


def test_a_run_whose_database_is_removed_says_so_and_its_jobs_go_on(duckrow: Duckrow) -> None:
    with a_run(duckrow, "touch began; while [ ! -e gate ]; do sleep 0.01; done; echo went on > out") as run:
        until((duckrow.work / "began").exists, "the job")
        (duckrow.home / "duckrow.db").unlink()
        until(lambda: not (duckrow.home / "hosts" / "2.lock").exists(), "the run to stand down")
        (duckrow.work / "gate").touch()
        until((duckrow.work / "out").exists, "the job to go on")
        assert until(lambda: run.poll() is not None, "the end of the run")
    words = (duckrow.work / "said").read_text()
    assert run.returncode == 1
    assert "was removed while this process used it: it steps down. 1 running job keeps running." in words


# -- the folders and what hosts have in them --------------------------------------------------------------------------


@pytest.mark.parametrize("spoil", [Path.unlink, replace], ids=["removed", "replaced"])
def test_a_lost_bell_is_made_again_and_new_jobs_start(duckrow: Duckrow, spoil: Callable[[Path], None]) -> None:
    pid = duckrow.up("--slots", "1")
    fifo = duckrow.home / "hosts" / "1.wake"
    spoil(fifo)
    duckrow.wait_for(duckrow.submit("--", "true"), "succeeded")
    until(fifo.is_fifo, "the bell")
    duckrow.wait_for(duckrow.submit("--", "true"), "succeeded")
    assert duckrow.daemon_pid() == pid
    until(lambda: problems(duckrow) == "", "all to be well")


def test_no_second_daemon_starts_when_the_locks_are_removed(duckrow: Duckrow) -> None:
    pid, running, waiting = with_a_job(duckrow)
    os.kill(pid, signal.SIGSTOP)  # so that it can repair nothing meanwhile
    shutil.rmtree(duckrow.home / "hosts")
    try:
        assert f"is already running (process {pid})" in duckrow("up").stderr
        second = duckrow("up", "--foreground", ok=False)
        assert second.returncode == 1
        assert f"There is already a daemon. It is already running (process {pid})." in second.stderr
        found = problems(duckrow)
        assert "1.lock was removed, but the daemon is alive" in found
        assert "1.wake was removed or replaced" in found
    finally:
        os.kill(pid, signal.SIGCONT)
    until((duckrow.home / "hosts" / "1.wake").exists, "the bell")
    until(lambda: problems(duckrow) == "", "all to be well")
    finish(duckrow, running, waiting)
    assert duckrow.daemon_pid() == pid
    duckrow("down")
    assert os.listdir(duckrow.home / "hosts") == []


def test_hosts_whose_locks_are_removed_do_not_take_each_other_for_dead(duckrow: Duckrow) -> None:
    with a_run(duckrow, GATED) as run:
        until((duckrow.home / "hosts" / "2.wake").exists, "the run")
        duckrow.wait_for(1, "running")
        duckrow.up("--slots", "1")
        shutil.rmtree(duckrow.home / "hosts")
        duckrow.wait_for(duckrow.submit("--", "true"), "succeeded")
        assert duckrow.sql("SELECT host_id FROM attempts WHERE job_id = 1") == [(2,)]
        (duckrow.work / "gate").touch()
        until(lambda: run.poll() is not None, "the end of the run")
    assert run.returncode == 1
    assert duckrow.job(1)["exit_code"] == 3


def test_a_daemon_whose_folder_is_removed_ends_and_makes_nothing_again(duckrow: Duckrow) -> None:
    pid = duckrow.up("--slots", "1")
    job = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.01; done; echo went on > out")
    duckrow.wait_for(job, "running")
    shutil.rmtree(duckrow.home)
    until(lambda: not is_running(pid), "the daemon to stand down")
    assert not duckrow.home.exists()
    (duckrow.work / "gate").touch()
    until((duckrow.work / "out").exists, "the job to go on")
    assert "No jobs yet" in duckrow("ls").stderr


def test_the_log_of_the_daemon_goes_on_when_it_was_moved_away(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    (duckrow.home / "daemon.log").rename(duckrow.home / "daemon.log.1")
    until((duckrow.home / "daemon.log").exists, "a new log")
    duckrow("down")
    until(lambda: "The daemon ends." in said(duckrow), "its last words")
