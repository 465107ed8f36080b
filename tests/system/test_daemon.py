"""The daemon and the verbs around it."""

from __future__ import annotations

import fcntl
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S, Duckrow, is_running, until


def test_submit_starts_the_daemon_and_prints_the_id(duckrow: Duckrow) -> None:
    assert duckrow("submit", "--", "echo", "hello world", "$HOME").stdout == "1\n"
    assert duckrow("wait", "1").returncode == 0
    assert duckrow("logs", "1").stdout == "hello world $HOME\n"
    assert is_running(duckrow.daemon_pid())


def test_jobs_as_lines_of_json_differ_in_more_than_their_command(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    lines = '{"command": "echo $WHO", "name": "first", "env": {"WHO": "me"}}\n'
    lines += '{"command": "exit 3", "retries": 1, "priority": 9}\n'
    duckrow("submit", "--format", "json", "--file", "-", "--hold", "--priority", "40", stdin=lines)
    jobs = [duckrow.job(number) for number in (1, 2)]
    assert [(job["name"], job["retries"], job["priority"]) for job in jobs] == [("first", 0, 40), ("exit", 1, 9)]
    duckrow("release", "1")
    duckrow("wait", "1")
    assert duckrow("logs", "1").stdout == "me\n"
    wrong = duckrow("submit", "--format", "json", "--file", "-", stdin='{"comand": "true"}\n', ok=False)
    assert "A job is written as" in wrong.stderr
    assert "duckrow submit --format json --file FILE" in duckrow("submit", "--format", "json", "true", ok=False).stderr


def test_a_here_document_is_one_job_and_its_options_stand_in_it(duckrow: Duckrow) -> None:
    script = "#!/bin/sh\n#DUCKROW --name prep --retries 1\n#DUCKROW --project thesis\nfor i in 1 2\ndo\necho $i\ndone\n"
    duckrow("submit", stdin=script)
    duckrow("wait", "prep")
    view = duckrow.job(1)
    assert (view["name"], view["project"]) == ("prep", "thesis")
    assert duckrow("logs", "prep").stdout == "1\n2\n"
    duckrow("submit", "--name", "mine", stdin=script)
    assert duckrow.job(2)["name"] == "mine"


def test_a_script_file_may_carry_its_options(duckrow: Duckrow) -> None:
    (duckrow.work / "train.sh").write_text("#DUCKROW --name fromfile\necho ran with $1\n")
    duckrow("submit", "train.sh", "--fast")
    duckrow("wait", "fromfile")
    assert duckrow("logs", "last").stdout == "ran with --fast\n"


def test_modules_of_the_folder_are_not_taken_for_those_of_python(duckrow: Duckrow) -> None:
    for name in ("json", "signal", "click"):
        (duckrow.work / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    program = [str(Path(sys.executable).parent / "duckrow"), "submit", "--", "true"]
    done = subprocess.run(program, cwd=duckrow.work, env=duckrow.env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_what_was_not_submitted_because_no_daemon_could_start_is_not_called_safe(duckrow: Duckrow) -> None:
    no_gpus = {"DUCKROW__DAEMON__DEVICES": "all", "CUDA_VISIBLE_DEVICES": ""}
    done = duckrow("submit", "--", "true", env=no_gpus, ok=False)
    assert done.returncode == 1
    assert done.stderr.startswith("duckrow: The daemon could not be started: ")
    assert done.stderr.endswith("Nothing was added to the queue.\n")
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(0,)]


def test_two_daemons_started_at_once_one_wins_and_the_other_says_so(duckrow: Duckrow) -> None:
    daemons = [duckrow.spawn("up", "--foreground", "--slots", "1", stderr=subprocess.PIPE) for _ in range(3)]
    until(lambda: sum(daemon.poll() is not None for daemon in daemons) == 2, "the losers' end")
    losers = [daemon for daemon in daemons if daemon.poll() is not None]
    winner = next(daemon for daemon in daemons if daemon.poll() is None)
    for loser in losers:
        _, said = loser.communicate()
        assert loser.returncode == 1
        assert f"There is already a daemon. It is already running (process {duckrow.daemon_pid()})." in said.decode()
    winner.terminate()
    winner.communicate()
    assert winner.returncode == 0


def test_many_who_start_the_daemon_at_once_all_get_it(duckrow: Duckrow) -> None:
    verbs = [("submit", "--", "true"), ("up",), ("submit", "--", "true"), ("up", "--quiet")] * 2
    commands = [duckrow.spawn(*verb, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for verb in verbs]
    for command in commands:
        _, said = command.communicate()
        assert (command.returncode, b"process None" in said) == (0, False), said.decode()
    assert duckrow("wait", "--all").returncode == 0
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(4,)]


def test_a_daemon_that_is_just_ending_is_followed_by_a_new_one(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    database = sqlite3.connect(duckrow.home / "duckrow.db")  # one that is just ending has not closed it yet
    database.execute("SELECT count(*) FROM jobs").fetchall()
    duckrow("down")
    with open(duckrow.home / "hosts" / "1.lock", "w") as lock, closing(database):
        fcntl.flock(lock, fcntl.LOCK_EX)
        submit = duckrow.spawn("submit", "--", "true", stdout=subprocess.DEVNULL)
        until(lambda: any(has_database(duckrow, pid) for pid in duckrow.processes() if pid != submit.pid), "its `up`")
    assert submit.wait(DEADLINE_S) == 0
    duckrow.wait_for(1, "succeeded")


def has_database(duckrow: Duckrow, pid: int) -> bool:
    try:
        return str(duckrow.home / "duckrow.db") in {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return False


def test_a_daemon_in_the_foreground_gives_the_prompt_back_while_its_jobs_go_on(duckrow: Duckrow) -> None:
    daemon, job = in_the_foreground(duckrow)
    daemon.terminate()
    until(lambda: daemon.poll() is not None, "the prompt")
    assert (daemon.returncode, duckrow.state(job)) == (0, "running")
    (duckrow.work / "gate").touch()
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 6


def test_who_watches_the_daemon_learns_at_once_that_it_was_killed(duckrow: Duckrow) -> None:
    daemon, job = in_the_foreground(duckrow)
    duckrow.kill_daemon()
    until(lambda: daemon.poll() is not None, "the end of what systemd watches")
    assert (daemon.returncode, duckrow.state(job)) == (128 + signal.SIGKILL, "running")
    duckrow.up()
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 6


def test_a_daemon_that_nobody_watches_any_more_ends(duckrow: Duckrow) -> None:
    watched, job = in_the_foreground(duckrow)
    daemon = duckrow.daemon_pid()
    watched.kill()
    watched.wait()
    until(lambda: not is_running(daemon), "the daemon's end")
    assert duckrow.sql("SELECT ended_at IS NOT NULL FROM hosts WHERE id = 1") == [(1,)]
    assert duckrow.state(job) == "running"


def in_the_foreground(duckrow: Duckrow) -> tuple[subprocess.Popen[bytes], int]:
    """A daemon, and a job of it that runs until there is a gate."""
    daemon = duckrow.spawn("up", "--foreground", "--slots", "1")
    until((duckrow.home / "hosts" / "1.wake").exists, "the daemon")
    job = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 6")
    duckrow.wait_for(job, "running")
    return daemon, job


def test_systemd_is_told_when_the_daemon_is_ready(duckrow: Duckrow) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("")  # a name that the kernel chooses; such names begin with a zero byte
        systemd.settimeout(DEADLINE_S)
        address = "@" + systemd.getsockname()[1:].decode()
        daemon = duckrow.spawn("up", "--foreground", "--slots", "1", env={"NOTIFY_SOCKET": address})
        assert systemd.recv(100) == b"READY=1"
    assert is_running(duckrow.daemon_pid())
    daemon.terminate()
    assert daemon.wait() == 0


def test_down_leaves_running_jobs_and_up_finds_them_again(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 6")
    duckrow.wait_for(job, "running")
    assert "1 job keeps running" in duckrow("down").stderr
    (duckrow.work / "gate").touch()
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 6
    assert "has ended" in duckrow("down").stderr
    assert "not running" in duckrow("down").stderr


def test_down_kill_ends_the_running_jobs_and_starts_no_other(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "sleep 600")
    waiting = duckrow.submit("--", "sleep 600")
    duckrow.wait_for(job, "running")
    duckrow("down", "--kill")
    assert duckrow.state(job) == "killed"
    assert duckrow.state(waiting) == "queued"
    until(lambda: not duckrow.processes(), "the end of all processes")


def test_down_kill_ends_what_an_earlier_daemon_left_and_starts_nothing(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    left = duckrow.submit("--", "sleep 600")
    duckrow.wait_for(left, "running")
    (duckrow.work / "jobs").write_text("sleep 600\n")
    run = duckrow.spawn("run", "--devices", "0", "jobs")
    duckrow.wait_for(2, "running")
    run.kill()
    run.wait()
    waiting = [duckrow.submit("--", "sleep 600") for _ in range(2)]
    duckrow.wait_for(waiting[0], "running")
    duckrow.kill_daemon()
    duckrow("down", "--kill")
    assert [duckrow.state(job) for job in (left, 2, *waiting)] == ["killed", "killed", "killed", "queued"]
    assert duckrow.job_processes() == []


def test_after_down_a_kill_ends_what_runs_and_what_waits_and_only_submit_starts_jobs_again(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    left, killed, waiting = (duckrow.submit("--", "sleep 600") for _ in range(3))
    duckrow.wait_for(left, "running")
    duckrow("down")
    duckrow("kill", str(left), str(killed))
    duckrow.wait_for(left, "killed")
    assert [duckrow.state(job) for job in (killed, waiting)] == ["killed", "queued"]
    until(lambda: not duckrow.processes(), "the end of the host that killed them")
    duckrow.submit("--", "true")
    duckrow.wait_for(waiting, "running")


def test_a_job_that_needs_more_memory_than_the_daemon_has_cannot_be_rerun_there(duckrow: Duckrow) -> None:
    duckrow("run", "--devices", "0:80G", "--gpu-mem", "50G", stdin="false", ok=False)
    duckrow.up("--devices", "0:24G")
    refused = duckrow("rerun", "1", ok=False)
    assert refused.stderr.startswith("duckrow: Job 1 could never start here. It asks for 50G of GPU memory")
    assert refused.stderr.endswith(" Nothing was queued.\n")
    assert duckrow.job(1)["outcome"] == "failed"
    assert "Nothing was queued" in duckrow("rerun", "1", "--gpus", "2", ok=False).stderr
    assert duckrow.job(1)["gpus"] is None  # a refused rerun changes nothing
    small = duckrow.submit("--hold", "--gpu-mem", "20G", "--", "true")
    refused = duckrow("edit", str(small), "--gpus", "2", ok=False)
    assert refused.stderr.startswith(f"duckrow: Job {small} could never start like this. ")


def test_a_job_of_a_run_that_is_over_can_be_rerun_by_the_daemon(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", stdin="test -e fixed\n", ok=False)
    (duckrow.work / "fixed").touch()
    duckrow("rerun", "1")
    duckrow("wait", "1")
    assert duckrow.job(1)["host"] == "daemon"


def test_follow_prints_a_log_as_it_grows_until_the_job_is_done(duckrow: Duckrow) -> None:
    job = duckrow.submit("--", "echo one; while [ ! -e gate ]; do sleep 0.05; done; echo two")
    follower = duckrow.spawn("logs", "-f", str(job), stdout=subprocess.PIPE)
    assert follower.stdout
    assert follower.stdout.readline() == b"one\n"
    (duckrow.work / "gate").touch()
    assert follower.stdout.read() == b"two\n"
    follower.stdout.close()
    assert follower.wait(DEADLINE_S) == 0


def test_state_files_are_private(duckrow: Duckrow) -> None:
    job = duckrow.submit("--", "true")
    duckrow.wait_for(job, "succeeded")
    assert duckrow.home.stat().st_mode & 0o777 == 0o700
    for path in duckrow.home.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_closed_pipe_is_no_error(duckrow: Duckrow) -> None:
    duckrow("submit", "--file", "-", stdin="true\n" * 2000)
    listing = duckrow.spawn("ls", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert listing.stdout
    assert listing.stderr
    listing.stdout.close()
    assert b"Traceback" not in listing.stderr.read()
    listing.stderr.close()
    listing.wait(DEADLINE_S)


@pytest.mark.parametrize("verb", [("wait", "1", "2"), ("logs", "-f", "1", "2")])
def test_who_waits_is_told_when_the_daemon_dies_and_when_it_is_back(duckrow: Duckrow, verb: tuple[str, ...]) -> None:
    duckrow.up("--slots", "1")
    duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.01; done")
    duckrow.submit("--", "true")
    duckrow.wait_for(1, "running")
    waiting = duckrow.spawn(*verb, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    duckrow.kill_daemon()
    assert waiting.stderr
    with waiting.stderr as said:
        assert b"the daemon is not running" in (line := said.readline()), line
        assert line.endswith(b"Type: duckrow up\n")
        duckrow.up()
        (duckrow.work / "gate").touch()
        assert waiting.wait(DEADLINE_S) == 0
        assert said.read() in (b"", b"duckrow: the scheduler is back; continuing.\n")


def test_who_waits_for_a_run_that_is_over_is_told_how_to_resume_it(duckrow: Duckrow) -> None:
    run = duckrow.spawn("run", "--slots", "1", "--name", "night", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdin
    errors = run.stderr
    assert errors
    run.stdin.write(b"while [ ! -e gate ]; do sleep 0.01; done\ntrue\n")
    run.stdin.close()
    until((duckrow.home / "duckrow.db").exists, "the database")
    until(lambda: duckrow.sql("SELECT 1 FROM sqlite_master WHERE name = 'wishes'"), "the tables")
    duckrow.wait_for(1, "running")
    run.send_signal(signal.SIGINT)
    until(lambda: b"Press Ctrl-C again" in errors.readline(), "the run to start nothing more")
    (duckrow.work / "gate").touch()
    errors.read()
    assert run.wait(DEADLINE_S) == 130
    done = duckrow("wait", "2", "--timeout", "0.1s", ok=False)
    assert done.returncode == 124
    assert "the run night has ended and 1 job did not start" in done.stderr
    assert "duckrow run --resume=night" in done.stderr


def test_python_that_waits_is_warned_when_there_is_no_daemon(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("pause")
    duckrow.submit("--", "true")
    duckrow("down")
    program = "import duckrow; duckrow.job(1).wait(timeout=0.1)"
    done = subprocess.run([sys.executable, "-c", program], env=duckrow.env, capture_output=True, text=True)
    assert "duckrow: The daemon is not running" in done.stderr
    assert "NotDoneInTime" in done.stderr
