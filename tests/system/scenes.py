"""What is played in a PID namespace of its own (see namespaces.py): each function is one scene."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.conftest import Duckrow, is_running, until
from tests.system.namespaces import is_there, stranger_with


def _journal(duckrow: Duckrow) -> Path:
    return next((duckrow.home / "keepers").iterdir())


def _begin(duckrow: Duckrow, *words: str) -> tuple[int, int]:
    """A job that runs until there is a file `gate`, and its PID."""
    duckrow.up("--slots", "1")
    job = duckrow.submit(*words, "--", "until test -e gate; do sleep 0.05; done; exit 21")
    duckrow.wait_for(job, "running")
    return job, int(duckrow.sql("SELECT pid FROM attempts WHERE job_id = ?", job)[0][0])


def _end_unseen(duckrow: Duckrow, pid: int) -> None:
    journal = _journal(duckrow)
    (duckrow.work / "gate").touch()
    until(lambda: "\nE " in journal.read_text(), "the keeper's record of the end")
    until(lambda: not Path(f"/proc/{pid}").exists(), "the PID to be free")


def a_stranger_gets_the_pid_after_down(duckrow: Duckrow) -> None:
    job, pid = _begin(duckrow)
    duckrow("down")
    _end_unseen(duckrow, pid)
    stranger = stranger_with(pid)
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 21
    assert is_there(stranger)


def a_stranger_gets_the_pid_after_the_daemon_was_killed(duckrow: Duckrow) -> None:
    job, pid = _begin(duckrow)
    duckrow.kill_daemon()
    _end_unseen(duckrow, pid)
    stranger = stranger_with(pid)
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert is_there(stranger)


def a_stranger_gets_the_pid_after_daemon_and_keeper_were_killed(duckrow: Duckrow) -> None:
    job, pid = _begin(duckrow)
    daemon = duckrow.daemon_pid()
    keeper = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
    for each in (daemon, keeper):
        os.kill(each, signal.SIGSTOP)
    for each in (daemon, keeper):
        os.kill(each, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    # In this namespace we are process 1, to whom orphans come.
    until(lambda: _reaped(pid), "the PID to be free")
    stranger = stranger_with(pid)
    duckrow.up()
    duckrow.wait_for(job, "lost")
    assert is_there(stranger)


def _reaped(pid: int) -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    return not Path(f"/proc/{pid}").exists()


def a_stranger_gets_the_pid_within_the_grace(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    stubborn = "trap : TERM; echo $$ > child; while :; do sleep 0.05; done"
    job = duckrow.submit(
        "--grace", "5s", "--", f"setsid sh -c '{stubborn}' & until test -e child; do :; done; exec sleep 600"
    )
    duckrow.wait_for(job, "running")
    pid = int(duckrow.sql("SELECT pid FROM attempts")[0][0])
    child = int(until(lambda: (duckrow.work / "child").exists() and (duckrow.work / "child").read_text(), "its child"))
    duckrow("kill", str(job))
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of its first process")
    stranger = stranger_with(pid)
    assert duckrow.state(job) == "stopping"
    duckrow.wait_for(job, "killed")
    assert not is_running(child)
    assert is_there(stranger)


# -- two containers on one folder -----------------------------------------------------------------------------------


def one_container(duckrow: Duckrow) -> None:
    """A daemon with a job; the daemon is killed when there is a file `kill`; all ends with a file `over`."""
    _begin(duckrow)
    (duckrow.work / "ready").touch()
    until(lambda: (duckrow.work / "kill").exists(), "the order to kill the daemon")
    duckrow.kill_daemon()
    (duckrow.work / "killed").touch()
    until(lambda: (duckrow.work / "over").exists(), "the end")


def the_other_container(duckrow: Duckrow) -> None:
    """On the same folder, with PIDs of its own."""
    work = duckrow.work
    assert "already" in duckrow("up").stdout + duckrow("up").stderr
    refused = duckrow("down", ok=False)
    assert refused.returncode != 0
    assert "another container" in refused.stderr
    beside = duckrow("run", "--slots", "1", "--", "true")
    assert beside.returncode == 0
    assert duckrow.state(1) == "running"
    (work / "kill").touch()
    until(lambda: (work / "killed").exists(), "the death of the other daemon")
    duckrow.up("--slots", "2")
    assert duckrow.daemon_pid()
    duckrow("wait", str(duckrow.submit("--", "true")))  # some ticks go by
    assert duckrow.state(1) == "running", "nobody here can judge it"
    (work / "gate").touch()
    duckrow.wait_for(1, "failed")
    assert duckrow.job(1)["exit_code"] == 21
    duckrow("down")
