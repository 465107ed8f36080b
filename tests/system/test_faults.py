"""Full disks, missing folders, damaged databases, and jobs that behave badly."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until


def database(duckrow: Duckrow) -> Path:
    return duckrow.home / "duckrow.db"


# -- the state folder -------------------------------------------------------------------------------------------------


def test_a_damaged_database_is_told_and_nothing_is_overwritten(duckrow: Duckrow) -> None:
    duckrow.home.mkdir()
    database(duckrow).write_bytes(b"this is no database, but somebody's notes" * 100)
    for words in (["ls"], ["submit", "--", "true"], ["run", "--slots", "1", "jobs"], ["up"]):
        (duckrow.work / "jobs").write_text("true\n")
        refused = duckrow(*words, ok=False)
        assert refused.returncode == 1, words
        assert "is damaged" in refused.stderr
    assert database(duckrow).read_bytes().startswith(b"this is no database")


def test_a_database_of_a_newer_duckrow_is_left_alone(duckrow: Duckrow) -> None:
    duckrow("ls")
    duckrow.sql("PRAGMA user_version = 999")
    refused = duckrow("submit", "--", "true", ok=False)
    assert refused.returncode == 1
    assert "newer duckrow" in refused.stderr


def test_a_state_folder_that_cannot_be_made_is_told(duckrow: Duckrow) -> None:
    (duckrow.work / "file").write_text("")
    refused = duckrow("ls", ok=False, env={"DUCKROW_HOME": str(duckrow.work / "file" / "state")})
    assert refused.returncode == 1
    assert "DUCKROW_HOME" in refused.stderr


def test_a_database_that_cannot_be_written_loses_no_job(duckrow: Duckrow) -> None:
    """A trigger refuses to write, as a read-only file would for a user who is not root."""
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 3")
    waiting = duckrow.submit("--", "echo ran >> out")
    duckrow.wait_for(job, "running")
    duckrow.sql(
        "CREATE TRIGGER broken BEFORE UPDATE ON attempts "
        "BEGIN SELECT raise(ABORT, 'attempt to write a readonly database'); END"
    )
    (duckrow.work / "gate").touch()
    until(lambda: "cannot be written" in (duckrow.home / "daemon.log").read_text(), "the daemon's complaint")
    assert duckrow.state(job) == "running"
    duckrow.sql("DROP TRIGGER broken")
    duckrow.wait_for(job, "failed")
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.job(job)["exit_code"] == 3
    assert (duckrow.work / "out").read_text() == "ran\n"
    until(lambda: "The problem is solved" in (duckrow.home / "daemon.log").read_text(), "the daemon's relief")


def test_removed_log_folders_are_made_again(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    first = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 3")
    second = duckrow.submit("--", "echo here")
    duckrow.wait_for(first, "running")
    shutil.rmtree(duckrow.home / "runs")
    (duckrow.work / "gate").touch()
    duckrow.wait_for(second, "succeeded")
    assert duckrow.job(first)["exit_code"] == 3
    assert duckrow("logs", str(second)).stdout == "here\n"
    assert "no log" in duckrow("logs", str(first)).stderr


@pytest.fixture
def small_disk(duckrow: Duckrow) -> Duckrow:
    """A state folder on a disk of 4 MB."""
    duckrow.home.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "duckrow-test", str(duckrow.home)])
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    return duckrow


def test_a_full_disk_loses_no_job_and_work_goes_on_when_there_is_room(small_disk: Duckrow) -> None:
    duckrow = small_disk
    try:
        duckrow.up("--slots", "2")
        running = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 3")
        waiting = [duckrow.submit("--", f"echo {n} >> out") for n in range(5)]
        blocker = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 4")
        duckrow.wait_for(running, "running")
        duckrow.wait_for(blocker, "running", "queued")
        fill = duckrow.home / "fill"
        with fill.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        refused = duckrow("submit", "--file", "-", stdin="echo much >> out\n" * 20000, ok=False)
        assert refused.returncode == 1
        assert "full" in refused.stderr
        (duckrow.work / "gate").touch()
        until(
            lambda: "full" in (duckrow.home / "daemon.log").read_text() or duckrow.state(running) == "failed", "trouble"
        )
        fill.unlink()
        for job in waiting:
            duckrow.wait_for(job, "succeeded")
        duckrow.wait_for(blocker, "failed")
        assert duckrow.job(running)["exit_code"] == 3
        assert sorted((duckrow.work / "out").read_text().split()) == ["0", "1", "2", "3", "4"]
    finally:
        duckrow.kill_everything()
        until(lambda: subprocess.run(["umount", str(duckrow.home)]).returncode == 0, "the kernel to let go of files")


# -- bad jobs ---------------------------------------------------------------------------------------------------------


def test_a_line_of_a_mebibyte_runs(duckrow: Duckrow) -> None:
    line = ": " + "x" * (1 << 20) + "; echo ran >> out\n"
    duckrow("run", "--slots", "1", stdin=line + "echo next >> out\n")
    assert (duckrow.work / "out").read_text() == "ran\nnext\n"


def test_a_command_with_a_nul_byte_is_refused_and_the_others_run(duckrow: Duckrow) -> None:
    done = duckrow("run", "--slots", "1", stdin=b"echo a >> out\necho \0 >> out\necho b >> out\n", ok=False)
    assert done.returncode == 1
    assert "NUL byte" in done.stderr
    assert "2 succeeded, 1 refused" in done.stderr
    assert (duckrow.work / "out").read_text() == "a\nb\n"


def test_bytes_that_are_not_utf8_reach_the_job_and_come_back(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", stdin=b"printf '%s\\n' caf\xe9 | tee out; printf '\\377\\n'\n")
    assert (duckrow.work / "out").read_bytes() == b"caf\xe9\n"
    raw = subprocess.run(duckrow.command("logs", "1"), env=duckrow.env, capture_output=True, check=True)
    assert raw.stdout == b"caf\xe9\n\xff\n"
    for words in (["ls"], ["ls", "--json"], ["show", "1"], ["logs", "-t", "1", "1"]):
        duckrow(*words)
    by_daemon = subprocess.run(
        [*duckrow.command("submit", "--"), b"printf %s caf\xe9 > out2"],
        env=duckrow.env,
        cwd=duckrow.work,
        capture_output=True,
    )
    assert by_daemon.returncode == 0, by_daemon.stderr
    duckrow("wait", "last")
    assert (duckrow.work / "out2").read_bytes() == b"caf\xe9"


def test_a_missing_folder_fails_that_job_with_a_sentence(duckrow: Duckrow) -> None:
    assert "does not exist" in duckrow("submit", "--cwd", "/no/such/folder", "--", "true", ok=False).stderr
    duckrow("pause")
    (duckrow.work / "soon-gone").mkdir()
    job = duckrow.submit("--cwd", "soon-gone", "--", "true")
    (duckrow.work / "soon-gone").rmdir()
    duckrow("resume")
    duckrow.wait_for(job, "failed")
    assert "soon-gone" in duckrow.job(job)["detail"]
    after = duckrow.submit("--", "pwd > where")
    duckrow.wait_for(after, "succeeded")
    assert (duckrow.work / "where").read_text().strip() == str(duckrow.work)


def test_a_job_that_prints_much_neither_blocks_nor_grows_the_scheduler(duckrow: Duckrow) -> None:
    pid = duckrow.up("--slots", "2")
    job = duckrow.submit("--max-log", "1M", "--", "head -c 300000000 /dev/zero | tr '\\0' 'x'; echo; echo end")
    plain = duckrow.submit("--", "head -c 100000000 /dev/zero")
    duckrow.wait_for(job, "succeeded")
    duckrow.wait_for(plain, "succeeded")
    assert Path(duckrow.job(job)["log"]).stat().st_size <= (1 << 20) + 200
    assert Path(duckrow.job(plain)["log"]).stat().st_size == 100_000_000
    status = Path(f"/proc/{pid}/status").read_text()
    peak_mb = int(status.split("VmHWM:")[1].split()[0]) / 1024
    assert peak_mb < 150
    assert duckrow("logs", "-t", "1", str(job)).stdout == "end\n"


def test_an_outfile_that_cannot_be_opened_fails_that_job_alone(duckrow: Duckrow) -> None:
    job = duckrow.submit("--outfile", "/no/such/folder/out", "--", "true")
    duckrow.wait_for(job, "failed")
    assert "/no/such/folder/out" in duckrow.job(job)["detail"]
    after = duckrow.submit("--", "true")
    duckrow.wait_for(after, "succeeded")


def test_a_fork_bomb_of_short_orphans_is_cleared(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    bomb = "for i in $(seq 30); do setsid sh -c 'trap \"\" TERM; sleep 600' & done; exit 0"
    job = duckrow.submit("--grace", "0.2", "--", bomb)
    duckrow.wait_for(job, "succeeded")
    assert duckrow.job_processes() == []


def test_a_stopped_daemon_misses_nothing(duckrow: Duckrow) -> None:
    """Suspended with Ctrl-Z, or the machine asleep."""
    pid = duckrow.up("--slots", "2")
    jobs = [duckrow.submit("--", f"while [ ! -e gate ]; do sleep 0.05; done; exit {code}") for code in (1, 2)]
    duckrow.wait_for(jobs[1], "running")
    os.kill(pid, signal.SIGSTOP)
    (duckrow.work / "gate").touch()
    until(lambda: not duckrow.job_processes(), "the jobs' end")
    os.kill(pid, signal.SIGCONT)
    for job, code in zip(jobs, (1, 2), strict=True):
        duckrow.wait_for(job, "failed")
        assert duckrow.job(job)["exit_code"] == code
