"""An upgrade while jobs run: what an older duckrow began is found again, whatever the form of its database was."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.jobs.attempt import ATTEMPTS_PER_JOB
from duckrow.engines.local.processes.processes import tag_of
from duckrow.kernel.process import boot_id
from duckrow.store.sqlite.connection import migrations
from tests.conftest import Duckrow, until

JOURNAL = "0123456789ab"
FORMS = range(1, len(migrations()) + 1)


def attempt_of(job: int) -> int:
    """The number of its first attempt in journals, the same in every release."""
    return job * ATTEMPTS_PER_JOB + 1


# As the keeper of a daemon that has ended: it has the journal open and locked, waits for the jobs, and writes their
# ends in the form that all releases so far have read.
OLD_KEEPER = """
import fcntl, os, sys, time
journal = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
fcntl.flock(journal, fcntl.LOCK_EX)
pids = {}
for word in sys.argv[2:]:
    attempt, tag, command = word.split(" ", 2)
    os.write(journal, f"S {attempt}\\n".encode())
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.execve("/bin/sh", ["sh", "-c", command], {**os.environ, "DUCKROW_TAG": tag})
    pids[pid] = attempt
    os.write(journal, f"P {attempt} {pid} {time.clock_gettime(time.CLOCK_BOOTTIME):.2f}\\n".encode())
    print(pid, flush=True)
while pids:
    pid, status = os.wait()
    os.write(journal, f"E {pids.pop(pid)} {status} {time.time():.6f}\\n".encode())
"""


class OldKeeper:
    """Two jobs under it: one runs until there is a gate, one has ended with 4."""

    def __init__(self, duckrow: Duckrow) -> None:
        jobs = {
            1: "touch began-1; while [ ! -e gate ]; do sleep 0.01; done; echo once >> out-1; exit 3",
            2: "echo once >> out-2; exit 4",
        }
        words = [f"{attempt_of(job)} {tag_of(JOURNAL, attempt_of(job))} {line}" for job, line in jobs.items()]
        self.journal = duckrow.home / "keepers" / JOURNAL
        command = [sys.executable, "-c", OLD_KEEPER, str(self.journal), *words]
        self.process = subprocess.Popen(command, cwd=duckrow.work, env=duckrow.env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.pids = [int(self.process.stdout.readline()) for _ in jobs]
        until(lambda: f"E {attempt_of(2)} " in self.journal.read_text(), "the end of job 2")
        until((duckrow.work / "began-1").exists, "job 1")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def keeper(duckrow: Duckrow) -> Iterator[OldKeeper]:
    for folder in ("", "runs", "keepers", "hosts"):
        (duckrow.home / folder).mkdir(mode=0o700)
    keeper = OldKeeper(duckrow)
    yield keeper
    keeper.close()


def old_database(duckrow: Duckrow, form: int, pids: list[int]) -> None:
    """As a daemon of that time left it: 1 runs, 2 has ended unseen, 3 was about to start and never did, 4 waits."""
    raw = sqlite3.connect(duckrow.home / "duckrow.db", isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    for script in migrations()[:form]:
        raw.executescript(Path(script).read_text())
    raw.execute(f"PRAGMA user_version = {form}")
    raw.execute("UPDATE hosts SET pid = 4194304, boot_id = ?, started_at = 1, ended_at = 2", (boot_id(),))
    raw.execute("INSERT INTO environments VALUES (1, '{}')")
    for job in (1, 2, 3, 4):
        raw.execute(
            "INSERT INTO jobs (host_id, project, name, command, cwd, environment_id, shell, notice_s, grace_s, retries,"
            " backoff_s, priority, position, created_at, changed_at, attempts, state)"
            " VALUES (1, 'p', 'n', ?, ?, 1, '/bin/sh', 30, 10, 0, 10, 30, ?, 1, 1, ?, ?)",
            (f"echo again >> out-{job}", str(duckrow.work), job, job < 4, "queued" if job == 4 else "running"),
        )
    raw.execute("UPDATE jobs SET state = 'starting' WHERE id = 3")
    for job, pid in ((1, pids[0]), (2, pids[1]), (3, None)):
        raw.execute(
            "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, pid)"
            " VALUES (?, 1, 1, ?, '[[\"cpu:0\", 1000000]]', '', 1, ?)",
            (job, JOURNAL, pid),
        )
    raw.close()
    os.chmod(duckrow.home / "duckrow.db", 0o600)


@pytest.mark.parametrize("form", FORMS)
def test_jobs_that_ran_under_an_older_duckrow_are_neither_lost_nor_run_twice(
    duckrow: Duckrow, keeper: OldKeeper, form: int
) -> None:
    old_database(duckrow, form, keeper.pids)
    duckrow.up("--slots", "4")
    assert duckrow.sql("PRAGMA user_version") == [(len(migrations()),)]
    duckrow.wait_for(2, "failed")
    duckrow.wait_for(3, "succeeded")
    duckrow.wait_for(4, "succeeded")
    assert duckrow.state(1) == "running"
    (duckrow.work / "gate").touch()
    duckrow.wait_for(1, "failed")
    assert (duckrow.job(1)["exit_code"], duckrow.job(2)["exit_code"]) == (3, 4)
    written = {job: (duckrow.work / f"out-{job}").read_text() for job in (1, 2, 3, 4)}
    assert written == {1: "once\n", 2: "once\n", 3: "again\n", 4: "again\n"}


def test_a_job_of_an_older_duckrow_whose_keeper_was_killed_is_lost_and_not_run_twice(
    duckrow: Duckrow, keeper: OldKeeper
) -> None:
    old_database(duckrow, 1, keeper.pids)
    keeper.process.send_signal(signal.SIGKILL)
    keeper.process.wait()
    duckrow.up("--slots", "4")
    duckrow.wait_for(2, "failed")
    assert duckrow.state(1) == "running"
    (duckrow.work / "gate").touch()
    duckrow.wait_for(1, "lost")
    assert (duckrow.work / "out-1").read_text() == "once\n"
