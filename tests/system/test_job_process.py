"""A job's process: how it is started, warned, ended, and what becomes of what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import Duckrow, is_running, until


@pytest.fixture
def daemon(duckrow: Duckrow) -> Duckrow:
    duckrow.up("--slots", "3")
    return duckrow


def test_a_job_runs_in_a_session_of_its_own_where_and_with_what_it_was_submitted(daemon: Duckrow) -> None:
    (daemon.work / "sub").mkdir()
    command = "pwd > where; echo $COLOUR $SECRET >> where; cut -d' ' -f6 /proc/$$/stat >> where; echo $$ >> where"
    job = daemon.submit("--cwd", "sub", "--env", "COLOUR=mallard", "--env", "SECRET=hush", "--", command)
    daemon.wait_for(job, "succeeded")
    where, colour, session, pid = (daemon.work / "sub" / "where").read_text().split("\n")[:4]
    assert where == str(daemon.work / "sub")
    assert colour == "mallard hush"
    assert session == pid
    for words in (["show", "1"], ["show", "1", "--json"], ["ls", "--json"]):
        assert "hush" not in daemon(*words).stdout


def test_the_callers_environment_is_taken_along_and_the_daemons_is_not(daemon: Duckrow) -> None:
    daemon("submit", "--", "echo $MOOD $CUDA_VISIBLE_DEVICES > mood", env={"MOOD": "fine", "CUDA_VISIBLE_DEVICES": "9"})
    daemon("wait", "last")
    assert (daemon.work / "mood").read_text() == "fine\n"


@pytest.mark.parametrize(
    ("command", "exit_code", "number"),
    [
        ("exec sh -c 'exit 11'", 11, None),
        ("trap 'exit 0' EXIT; kill -9 $$", None, 9),
        ("trap - EXIT; kill -TERM $$", None, 15),
        ("kill -SEGV $$", None, 11),
        ("no-such-program-anywhere", 127, None),
        ("exit 255", 255, None),
    ],
)
def test_the_exit_code_is_what_the_kernel_said(
    daemon: Duckrow, command: str, exit_code: int | None, number: int | None
) -> None:
    job = daemon.submit("--", command)
    daemon("wait", str(job), ok=False)
    view = daemon.job(job)
    assert (view["exit_code"], view["signal"]) == (exit_code, number)


def test_another_shell_runs_the_command_if_asked(daemon: Duckrow) -> None:
    job = daemon.submit("--shell", "/bin/bash", "--", "[[ abc == a* ]]")
    daemon.wait_for(job, "succeeded")
    shell = daemon.work / "shell"
    shell.symlink_to("/bin/sh")
    daemon("pause")
    gone = daemon.submit("--shell", "./shell", "--", "true")
    shell.unlink()
    daemon("resume")
    daemon.wait_for(gone, "failed")
    assert str(shell) in daemon.job(gone)["detail"]


def test_kill_ends_the_whole_group_also_what_does_not_listen(daemon: Duckrow) -> None:
    job = daemon.submit(
        "--grace", "0.3", "--", "trap '' TERM; sh -c 'trap \"\" TERM; sleep 600' & touch up; wait; sleep 600"
    )
    until((daemon.work / "up").exists, "the job")
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    assert daemon.job_processes() == []


def test_kill_reaches_a_descendant_that_has_left_the_group(daemon: Duckrow) -> None:
    job = daemon.submit(
        "--grace", "0.2", "--", "setsid sh -c 'trap \"\" TERM; echo $$ > escaped; sleep 600' & sleep 600"
    )
    until(lambda: (daemon.work / "escaped").exists() and (daemon.work / "escaped").read_text(), "the escaped process")
    escaped = int((daemon.work / "escaped").read_text())
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    assert not is_running(escaped)


def test_a_device_is_free_only_when_all_processes_of_its_job_are_gone(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    escape = (
        "setsid sh -c 'trap \"\" TERM; echo $$ > escaped; exec sleep 600' & until [ -s escaped ]; do sleep 0.05; done"
    )
    job = duckrow.submit("--gpus", "1", "--grace", "0.5", "--", f"{escape}; exit 5")
    # A zombie, which nobody has buried yet, holds nothing.
    nxt = duckrow.submit("--gpus", "1", "--", "grep '^State:.[RSDT]' /proc/$(cat escaped)/status")
    duckrow.wait_for(nxt, "failed")  # nobody of that number lives
    assert duckrow.job(job)["exit_code"] == 5
    assert duckrow.state(job) == "failed"


def test_a_job_that_leaves_children_behind_ends_with_its_own_code_and_they_are_ended(daemon: Duckrow) -> None:
    job = daemon.submit("--", "sleep 600 & setsid sleep 601 & exit 0")
    daemon.wait_for(job, "succeeded")
    assert daemon.job_processes() == []


def test_kill_now_does_not_wait(daemon: Duckrow) -> None:
    job = daemon.submit("--grace", "600", "--", "trap '' TERM; touch up; while :; do sleep 0.05; done")
    until((daemon.work / "up").exists, "the job")
    daemon("kill", str(job))
    daemon.wait_for(job, "stopping")
    daemon("kill", "--now", str(job))
    daemon.wait_for(job, "killed")


def test_a_waiting_job_that_is_killed_never_starts(daemon: Duckrow) -> None:
    daemon("pause")
    job = daemon.submit("--", "touch ran")
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    daemon("resume")
    later = daemon.submit("--", "true")
    daemon.wait_for(later, "succeeded")
    assert not (daemon.work / "ran").exists()


def test_a_job_killed_from_outside_is_noticed_at_once(daemon: Duckrow) -> None:
    job = daemon.submit("--", "exec sleep 600")
    daemon.wait_for(job, "running")
    os.kill(daemon.job(job)["pid"], signal.SIGKILL)
    daemon.wait_for(job, "killed")
    assert daemon.job(job)["signal"] == 9


def test_a_job_over_its_time_limit_is_warned_if_it_listens_then_ended(daemon: Duckrow) -> None:
    listens = "trap 'touch warned' USR2; while :; do sleep 0.02; done"
    limit = ("--timeout", "1.7", "--signal", "USR2@0.5s", "--grace", "1")  # it takes a moment to begin to listen
    job = daemon.submit(*limit, "--", listens)
    deaf = daemon.submit(*limit, "--", "sleep 600")
    daemon.wait_for(job, "timed-out")
    daemon.wait_for(deaf, "timed-out")
    assert (daemon.work / "warned").exists()
    view = daemon.job(deaf)
    assert view["duration_s"] >= 1.7  # the warning would have killed it earlier
    assert view["signal"] == 15


def test_a_job_that_uses_the_warning_to_end_well_has_succeeded(daemon: Duckrow) -> None:
    job = daemon.submit(
        "--timeout", "8", "--signal", "USR1@7s", "--", "trap 'exit 0' USR1; while :; do sleep 0.02; done"
    )
    daemon.wait_for(job, "succeeded")


def test_exit_75_puts_the_job_back_into_the_queue(daemon: Duckrow) -> None:
    command = "echo x >> tries; [ $(wc -l < tries) -ge 2 ] || { sleep 5.1; exit 75; }"
    job = daemon.submit("--", command)
    daemon.wait_for(job, "succeeded")
    assert daemon.job(job)["attempts"] == 2


def test_retries_use_their_back_off_and_keep_each_log(daemon: Duckrow) -> None:
    job = daemon.submit("--retries", "2", "--backoff", "0.2", "--", "echo try $DUCKROW_ATTEMPT; exit 1")
    daemon.wait_for(job, "failed")
    attempts = daemon.job(job)["attempts_made"]
    assert [Path(attempt["log"]).read_text() for attempt in attempts] == ["try 1\n", "try 2\n", "try 3\n"]
    gaps = [later["started_at"] - earlier["ended_at"] for earlier, later in pairwise(attempts)]
    assert gaps[0] >= 0.2
    assert gaps[1] >= 0.4


def test_a_killed_job_is_not_retried(daemon: Duckrow) -> None:
    job = daemon.submit("--retries", "5", "--backoff", "0", "--", "sleep 600")
    daemon.wait_for(job, "running")
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    assert daemon.job(job)["attempts"] == 1


def test_the_log_is_capped_if_asked_with_head_and_tail_kept(daemon: Duckrow) -> None:
    job = daemon.submit("--max-log", "64K", "--", "echo first; seq 1000000; echo last")
    daemon.wait_for(job, "succeeded")
    text = Path(daemon.job(job)["log"]).read_text()
    assert len(text) <= 64 * 1024 + 200
    assert text.startswith("first\n1\n2\n")
    assert text.endswith("\n1000000\nlast\n")
    assert text.count("cut here by --max-log") == 1


def test_output_goes_to_the_outfile_if_one_is_named(daemon: Duckrow) -> None:
    job = daemon.submit("--outfile", "mine.txt", "--", "echo hello")
    daemon.wait_for(job, "succeeded")
    assert (daemon.work / "mine.txt").read_text() == "hello\n"
    assert daemon("logs", str(job)).stdout == "hello\n"


def test_open_files_of_the_starting_shell_are_not_held_by_the_keeper(duckrow: Duckrow) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    run = duckrow.spawn("run", "--slots", "1", stdin=subprocess.PIPE, pass_fds=(writing,))
    os.close(writing)
    assert run.stdin
    run.stdin.write(b"while [ ! -e gate ]; do sleep 0.05; done\n")
    run.stdin.flush()
    until(duckrow.job_processes, "the job")
    run.kill()
    run.wait()
    run.stdin.close()
    assert os.read(reading, 1) == b""  # job and keeper live on, and nobody holds the other end any more
    os.close(reading)
    (duckrow.work / "gate").touch()
