"""`duckrow run` as a user would use it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

from tests.conftest import DEADLINE_S, Duckrow, has_open, press_ctrl_c, read_to_end, until


def jobs_file(duckrow: Duckrow, text: str, name: str = "jobs.txt") -> str:
    (duckrow.work / name).write_text(text)
    return name


def lines_of(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1] if path.exists() else []


def gated(gate: Path, then: str = "") -> str:
    """A command that runs until the gate is there."""
    return f"while [ ! -e {gate} ]; do sleep 0.05; done; {then}".rstrip("; ")


def test_commands_come_from_a_file_or_a_pipe_and_the_exit_code_tells(duckrow: Duckrow) -> None:
    file = jobs_file(duckrow, "echo a >> out\n\n# no job\necho b >> out\n")
    assert duckrow("run", "--slots", "1", file).returncode == 0
    assert duckrow("run", "--slots", "1", stdin="echo c >> out").returncode == 0
    assert lines_of(duckrow.work / "out") == ["a", "b", "c"]
    assert duckrow("run", "--slots", "2", stdin="exit 3", ok=False).returncode == 1


def test_each_job_gets_its_device_and_what_duckrow_tells_it(duckrow: Duckrow) -> None:
    show = (
        "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $DUCKROW_ATTEMPT $DUCKROW_PROJECT $MASTER_PORT > $DUCKROW_JOB_ID"
    )
    duckrow("run", "--devices", "5", "--project", "thesis", stdin=show)
    assert (duckrow.work / "1").read_text() == "5 PCI_BUS_ID 1 thesis\n"
    duckrow("run", "--devices", "4,6", "7,9", "--", "sh", "-c", "true")
    duckrow("run", "--devices", "0+1", stdin=show)
    devices, _, _, _, port = (duckrow.work / "3").read_text().split()
    assert devices == "0,1"
    assert 1024 < int(port) < 65536
    duckrow("run", "--slots", "1", stdin='[ -z "$CUDA_VISIBLE_DEVICES" ] && [ -d "$DUCKROW_RUN_DIR" ]')


def test_a_line_that_is_appended_to_a_followed_file_starts_at_once(duckrow: Duckrow) -> None:
    queue = duckrow.work / "q"
    queue.write_text("echo old >> out\n")
    tail = subprocess.Popen(["tail", "-f", "-n", "0", str(queue)], stdout=subprocess.PIPE)
    run = duckrow.spawn("run", "--devices", "0,1,2", stdin=tail.stdout)
    try:
        until(lambda: (duckrow.home / "duckrow.db").exists(), "the run")
        until(lambda: has_open(tail.pid, queue), "tail to follow the file")
        for number in range(3):
            with queue.open("a") as file:
                file.write(f"echo {number} >> out\n")
            until(lambda number=number: str(number) in lines_of(duckrow.work / "out"), "the appended line")  # type: ignore[misc]
    finally:
        tail.kill()
        tail.wait()
        assert tail.stdout
        tail.stdout.close()
    assert run.wait(DEADLINE_S) == 0
    assert lines_of(duckrow.work / "out") == ["0", "1", "2"]


def test_a_relative_folder_is_meant_from_where_the_run_was_started_however_late_its_line_comes(
    duckrow: Duckrow,
) -> None:
    below = duckrow.work / "below"
    below.mkdir()
    run = duckrow.spawn("run", "--slots", "1", "--format", "json", stdin=subprocess.PIPE)
    assert run.stdin
    for name in ("first", "second"):
        run.stdin.write(json.dumps({"command": f"touch {name}", "cwd": "below"}).encode() + b"\n")
        run.stdin.flush()
        until((below / name).exists, "its file")
    run.stdin.close()
    assert run.wait(DEADLINE_S) == 0


def test_jobs_do_not_eat_the_list_of_commands(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", stdin="cat\n" + "echo x >> out\n" * 5)
    assert len(lines_of(duckrow.work / "out")) == 5


def test_a_shared_gpu_is_never_booked_twice_by_runs_and_the_daemon(duckrow: Duckrow) -> None:
    clash = "mkdir lock.$CUDA_VISIBLE_DEVICES || echo clash >> clashes; sleep 0.01; rmdir lock.$CUDA_VISIBLE_DEVICES\n"
    file = jobs_file(duckrow, clash * 12)
    duckrow.up("--devices", "0,1")
    duckrow("submit", "--gpus", "1", "--file", file)
    runs = [duckrow.spawn("run", "--devices", "0,1", file) for _ in range(2)]
    assert [run.wait(DEADLINE_S) for run in runs] == [0, 0]
    duckrow("wait", "--all")
    assert duckrow.sql("SELECT count(*), outcome FROM jobs GROUP BY outcome") == [(36, "succeeded")]
    assert not (duckrow.work / "clashes").exists()


def test_one_command_keeps_its_input_and_returns_its_exit_code(duckrow: Duckrow) -> None:
    done = duckrow(
        "run", "--devices", "3", "--", "sh", "-c", "cat; echo $CUDA_VISIBLE_DEVICES; exit 7", stdin="typed\n", ok=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("typed\n3\n", "", 7)
    killed = duckrow("run", "--slots", "1", "--", "kill -9 $$", ok=False)
    assert killed.returncode == 137


def test_one_command_waits_for_a_free_gpu(duckrow: Duckrow) -> None:
    gate = duckrow.work / "gate"
    first = duckrow.spawn("run", "--devices", "0", stdin=subprocess.PIPE)
    assert first.stdin
    first.stdin.write(f"{gated(gate)}\n".encode())
    first.stdin.close()
    until(
        lambda: (
            (duckrow.home / "duckrow.db").exists()  # to look for it earlier would make an empty one
            and duckrow.sql("SELECT 1 FROM sqlite_master WHERE name = 'jobs'")
        ),
        "a database",
    )
    duckrow.wait_for(1, "running")
    second = duckrow.spawn("run", "--devices", "0", "--", "echo ran >> out", stderr=subprocess.PIPE)
    assert second.stderr
    assert b"duckrow: waiting: " in second.stderr.readline()
    assert not (duckrow.work / "out").exists()
    gate.touch()
    assert (first.wait(DEADLINE_S), second.wait(DEADLINE_S)) == (0, 0)
    second.stderr.close()
    assert lines_of(duckrow.work / "out") == ["ran"]


def test_one_command_says_that_it_waits_for_a_pause_and_is_dropped_with_ctrl_c(duckrow: Duckrow) -> None:
    duckrow("pause")
    run = duckrow.spawn("run", "--slots", "1", "--", "true", stderr=subprocess.PIPE)
    assert run.stderr
    assert b"everything is paused, so nothing starts" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 130
    run.stderr.close()
    assert duckrow.sql("SELECT outcome FROM jobs") == [("skipped",)]


def test_one_command_ends_when_ctrl_c_is_sent_to_its_run_alone(duckrow: Duckrow) -> None:
    run = duckrow.spawn("run", "--slots", "1", "--", "touch there; exec sleep 600")
    until((duckrow.work / "there").exists, "the command")
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 128 + signal.SIGINT


def test_one_command_has_the_terminal(duckrow: Duckrow) -> None:
    ours, theirs = pty.openpty()
    run = duckrow.spawn(
        "run", "--slots", "1", "--", "test -t 0 && test -t 1 && read line < /dev/tty && echo got $line",
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"hello\n")
    assert b"got hello" in read_to_end(ours)
    assert run.wait(DEADLINE_S) == 0


def start_interruptible(duckrow: Duckrow, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
    """A run of two jobs at a time, of which the first two wait for a gate, and eight that wait."""
    gate = duckrow.work / "gate"
    jobs_file(duckrow, f"{gated(gate, 'echo end >> out')}\n" * 2 + "echo late >> out\n" * 8)
    run = duckrow.spawn("run", "--slots", "2", *words, "jobs.txt", stderr=subprocess.PIPE)
    until(lambda: (duckrow.home / "duckrow.db").exists(), "the database")
    until(lambda: duckrow.sql("SELECT 1 FROM sqlite_master WHERE name = 'wishes'"), "the tables")
    until(lambda: duckrow.sql("SELECT count(*) FROM jobs WHERE state = 'running'") == [(2,)], "two running jobs")
    return run, gate


def said(run: subprocess.Popen[bytes], words: str) -> str:
    """Read what the run says until it has said these words."""
    assert run.stderr
    heard = ""
    while words not in heard:
        line = run.stderr.readline().decode()
        assert line, f"it never said {words!r}, but: {heard}"
        heard += line
    return heard


def test_ctrl_c_once_lets_running_jobs_finish_and_resume_runs_the_rest_once(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    run.send_signal(signal.SIGINT)
    said(run, "starting nothing more; 2 running jobs may finish")
    gate.touch()
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr
    assert "8 not started" in run.stderr.read().decode()
    run.stderr.close()
    assert lines_of(duckrow.work / "out") == ["end"] * 2
    resumed = duckrow("run", "--slots", "2", "--resume", "jobs.txt")
    assert "8 succeeded, 2 succeeded earlier" in resumed.stderr
    assert sorted(lines_of(duckrow.work / "out")) == ["end"] * 2 + ["late"] * 8
    again = duckrow("run", "--slots", "2", "--resume", "jobs.txt")
    assert "0 succeeded, 10 succeeded earlier" in again.stderr


def test_the_third_ctrl_c_kills_jobs_that_do_not_listen(duckrow: Duckrow) -> None:
    jobs_file(duckrow, "trap '' TERM; touch there; while :; do sleep 0.05; done\n")
    ours, theirs = pty.openpty()
    run = duckrow.spawn(
        "run", "--slots", "1", "jobs.txt", stdin=theirs, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    until((duckrow.work / "there").exists, "the job")
    for words in ("starting nothing more", "stopping 1"):
        press_ctrl_c(ours, run.pid)
        said(run, words)
    assert duckrow.job_processes()
    press_ctrl_c(ours, run.pid)
    assert run.wait(DEADLINE_S) == 130
    os.close(ours)
    assert run.stderr
    run.stderr.close()
    assert not duckrow.job_processes()


def test_running_jobs_survive_the_terminal(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    run.send_signal(signal.SIGHUP)
    said(run, "starting nothing more")
    assert run.stderr
    run.stderr.close()  # nobody hears it any more
    assert len(duckrow.job_processes()) >= 2
    gate.touch()
    assert run.wait(DEADLINE_S) == 130
    assert lines_of(duckrow.work / "out") == ["end"] * 2


def test_a_run_that_is_killed_outright_is_resumed_without_running_anything_twice(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    run.kill()
    run.wait()
    assert run.stderr
    run.stderr.close()
    resumed = duckrow.spawn("run", "--slots", "2", "--resume", "jobs.txt")
    gate.touch()
    assert resumed.wait(DEADLINE_S) == 0
    assert sorted(lines_of(duckrow.work / "out")) == ["end"] * 2 + ["late"] * 8
    assert duckrow.sql("SELECT count(*) FROM attempts") == [(10,)]


def test_output_goes_to_logs_or_is_followed_or_passed_through(duckrow: Duckrow) -> None:
    quiet = duckrow("run", "--slots", "1", stdin="echo hello; echo world >&2")
    assert quiet.stdout == ""
    assert duckrow("logs", "last").stdout == "hello\nworld\n"
    followed = duckrow("run", "--slots", "2", "--follow", "--name", "f", stdin="echo a; echo b\nprintf 'no newline'\n")
    assert sorted(followed.stdout.split("\n")) == ["", "[2 f] a", "[2 f] b", "[3 f] no newline"]
    passed = duckrow("run", "--slots", "1", "--passthrough", stdin="printf raw; printf err >&2")
    assert passed.stdout == "raw"
    assert passed.stderr.startswith("err")


def test_the_live_view_shows_progress_in_a_terminal(duckrow: Duckrow) -> None:
    ours, theirs = pty.openpty()
    gate = duckrow.work / "gate"
    file = jobs_file(duckrow, f"true\n{gated(gate)}\n")
    run = duckrow.spawn("run", "--devices", "0,1", file, stderr=theirs, env={"TERM": "xterm", "NO_COLOR": ""})
    os.close(theirs)
    screen = b""
    while b"1/2" not in screen or b"1 running" not in screen:
        screen += os.read(ours, 4096)
    gate.touch()
    screen += read_to_end(ours)
    assert run.wait(DEADLINE_S) == 0
    assert b"2 succeeded" in screen


def test_a_daemon_that_a_job_starts_is_no_part_of_that_job(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", "--", f"{' '.join(duckrow.command('submit', '--', 'sleep 0.2'))}")
    duckrow("wait", "2")
    assert duckrow.state(2) == "succeeded"


def test_a_run_does_not_wait_for_jobs_that_it_has_adopted(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    job = duckrow.submit("--", "while [ ! -e gate ]; do sleep 0.05; done; exit 8")
    duckrow.wait_for(job, "running")
    duckrow.kill_daemon()
    duckrow("run", "--devices", "1", "--", "true")
    assert duckrow.state(job) == "running"
    (duckrow.work / "gate").touch()
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 8


def test_short_jobs_are_lined_up_and_still_counted_killed_and_interrupted_exactly(duckrow: Duckrow) -> None:
    """However late we pause or interrupt it, the run has come no further than to two jobs that wait for it."""
    short = "echo $DUCKROW_JOB_ID >> out\n"
    before_pause, before_interrupt = (f"{gated(Path(gate), short)}" * 2 for gate in ("paused", "interrupted"))
    (duckrow.work / "jobs.txt").write_text(short * 200 + before_pause + short * 200 + before_interrupt + short * 96)
    run = duckrow.spawn("run", "--slots", "2", "jobs.txt", stderr=subprocess.PIPE)
    until(lambda: len(lines_of(duckrow.work / "out")) > 120, "some jobs")
    duckrow("pause")
    (duckrow.work / "paused").touch()
    until(lambda: duckrow.sql("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(0,)], "the pause")
    paused_at = len(lines_of(duckrow.work / "out"))
    assert 120 < paused_at < 402
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(paused_at,)]
    duckrow("kill", "490-500")
    duckrow("resume")
    until(lambda: len(lines_of(duckrow.work / "out")) > paused_at, "some more")
    run.send_signal(signal.SIGINT)
    said(run, "starting nothing more")
    (duckrow.work / "interrupted").touch()
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr
    run.stderr.close()
    assert duckrow.sql("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(0,)]
    duckrow("run", "--slots", "2", "--resume", "jobs.txt")
    assert sorted(map(int, lines_of(duckrow.work / "out"))) == list(range(1, 501))


def test_nobody_waits_in_line_behind_a_slow_job(duckrow: Duckrow) -> None:
    slow = "while [ ! -e gate ]; do sleep 0.05; done\n"
    (duckrow.work / "jobs.txt").write_text("true\n" * 60 + slow + "true\n" * 60)
    run = duckrow.spawn("run", "--slots", "2", "jobs.txt", stderr=subprocess.DEVNULL)
    until(lambda: (duckrow.home / "duckrow.db").exists(), "the database")
    until(
        lambda: (
            duckrow.sql("SELECT count(*) FROM sqlite_master WHERE name = 'jobs'") == [(1,)]
            and duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(120,)]
        ),
        "all but the slow one",
    )
    (duckrow.work / "gate").touch()
    assert run.wait(DEADLINE_S) == 0


def test_ctrl_c_starts_nothing_more_of_what_was_lined_up(duckrow: Duckrow) -> None:
    (duckrow.work / "jobs.txt").write_text("true\n" * 60 + "touch there; sleep 0.015\n" * 2000)
    run = duckrow.spawn("run", "--slots", "2", "jobs.txt", stderr=subprocess.PIPE)
    until((duckrow.work / "there").exists, "the longer jobs")
    run.send_signal(signal.SIGINT)
    heard = said(run, "starting nothing more")
    assert any(f"{number} running job" in heard for number in (0, 1, 2)), heard
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr
    run.stderr.close()
    assert duckrow.sql("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(0,)]
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE state NOT IN ('queued', 'done')") == [(0,)]


def test_no_process_is_left_after_a_run(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "2", stdin="true\n" * 5)
    until(lambda: not duckrow.processes(), "the keeper's end")
    assert list((duckrow.home / "keepers").iterdir()) == []
    assert json.loads(duckrow("gpus", "--json").stdout) == []
