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
    failed = duckrow("run", "--slots", "2", stdin="true\nexit 3\n", ok=False)
    assert failed.returncode == 1
    assert "1 succeeded, 1 failed" in failed.stderr
    assert "exit 3" in failed.stderr


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


def test_two_tokens_of_pairs_are_two_places_of_two_gpus(duckrow: Duckrow) -> None:
    command = "echo $CUDA_VISIBLE_DEVICES >> out; until [ $(wc -l < out) -ge 2 ]; do sleep 0.05; done"
    file = jobs_file(duckrow, f"{command}\n{command}\n")
    duckrow("run", "--devices", "0,1", "2,3", file)
    assert sorted(lines_of(duckrow.work / "out")) == ["0,1", "2,3"]


def test_a_gpu_named_twice_has_two_jobs_at_a_time(duckrow: Duckrow) -> None:
    command = "echo $CUDA_VISIBLE_DEVICES >> out; until [ $(wc -l < out) -ge 2 ]; do sleep 0.05; done\n"
    duckrow("run", "--devices", "0", "0", stdin=command * 2)
    duckrow("run", "--devices", "0", "--jobs-per-gpu", "2", stdin=command * 2)
    assert lines_of(duckrow.work / "out") == ["0"] * 4


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
    duckrow("run", "--slots", "1", stdin="cat\n" + "echo x >> out\n" * 50)
    assert len(lines_of(duckrow.work / "out")) == 50


def test_a_job_can_have_several_lines(duckrow: Duckrow) -> None:
    file = jobs_file(duckrow, "echo one \\\n  two >> out\necho three >> out\n")
    duckrow("run", "--slots", "1", file)
    script = jobs_file(duckrow, "for i in 1 2\ndo\n  echo $i >> out\ndone\n%%\necho end >> out\n", "script.txt")
    duckrow("run", "--slots", "1", "--delimiter", "%%", script)
    assert lines_of(duckrow.work / "out") == ["one two", "three", "1", "2", "end"]


def test_a_shared_gpu_is_never_booked_twice_by_runs_and_the_daemon(duckrow: Duckrow) -> None:
    clash = "mkdir lock.$CUDA_VISIBLE_DEVICES || echo clash >> clashes; sleep 0.01; rmdir lock.$CUDA_VISIBLE_DEVICES\n"
    file = jobs_file(duckrow, clash * 30)
    duckrow.up("--devices", "0,1")
    duckrow("submit", "--gpus", "1", "--file", file)
    runs = [duckrow.spawn("run", "--devices", "0,1", file) for _ in range(2)]
    assert [run.wait(DEADLINE_S) for run in runs] == [0, 0]
    duckrow("wait", "--all")
    assert duckrow.sql("SELECT count(*), outcome FROM jobs GROUP BY outcome") == [(90, "succeeded")]
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
    assert b"waiting for a free device" in second.stderr.readline()
    assert not (duckrow.work / "out").exists()
    gate.touch()
    assert (first.wait(DEADLINE_S), second.wait(DEADLINE_S)) == (0, 0)
    second.stderr.close()
    assert lines_of(duckrow.work / "out") == ["ran"]


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


def test_ctrl_c_twice_stops_running_jobs(duckrow: Duckrow) -> None:
    run, _ = start_interruptible(duckrow)
    run.send_signal(signal.SIGINT)
    said(run, "starting nothing more")
    run.send_signal(signal.SIGTERM)
    said(run, "stopping 2 running jobs")
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr
    run.stderr.close()
    assert not duckrow.job_processes()
    assert not (duckrow.work / "out").exists()
    assert duckrow.sql("SELECT count(*), outcome FROM jobs GROUP BY outcome") == [(8, None), (2, "killed")]


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


def test_resume_matches_lines_by_text_and_occurrence(duckrow: Duckrow) -> None:
    file = jobs_file(duckrow, "echo same >> out\necho same >> out\nfalse\necho gone >> out\n")
    duckrow("run", "--slots", "1", file, ok=False)
    duckrow.sql("UPDATE jobs SET state = 'queued', outcome = NULL WHERE id = 4")
    jobs_file(duckrow, "echo same >> out\nfalse\necho same >> out\necho same >> out\necho new >> out\n")
    resumed = duckrow("run", "--slots", "1", "--resume", file, ok=False)
    assert "2 succeeded, 1 failed, 2 succeeded earlier" in resumed.stderr
    assert lines_of(duckrow.work / "out") == ["same", "same", "gone", "same", "new"]
    assert duckrow.state(4) == "skipped"
    assert duckrow.job(3)["attempts"] == 2


def test_a_named_run_is_resumed_by_its_name(duckrow: Duckrow) -> None:
    duckrow(
        "run", "--slots", "1", "--name", "night", stdin="test -e fixed && echo ok >> out\necho ok >> out\n", ok=False
    )
    (duckrow.work / "fixed").touch()
    for form in (["--resume=night"], ["--resume", "night"]):
        duckrow("run", "--slots", "1", *form)
    assert lines_of(duckrow.work / "out") == ["ok", "ok"]
    assert duckrow("run", "--resume=nobody", ok=False).returncode == 2


def test_a_resumed_run_has_the_devices_that_it_had(duckrow: Duckrow) -> None:
    file = jobs_file(duckrow, "echo $CUDA_VISIBLE_DEVICES >> out; test -e fixed\n")
    duckrow("run", "--devices", "5", file, ok=False)
    duckrow("run", "--resume", file, ok=False)
    duckrow("run", "--devices", "6", "--resume", file, ok=False)
    assert lines_of(duckrow.work / "out") == ["5", "5", "6"]


def test_a_run_that_still_goes_on_cannot_be_resumed(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    refused = duckrow("run", "--slots", "2", "--resume", "jobs.txt", ok=False)
    assert refused.returncode == 2
    assert "has not ended" in refused.stderr
    gate.touch()
    assert run.wait(DEADLINE_S) == 0
    assert run.stderr
    run.stderr.close()


def test_output_goes_to_logs_or_is_followed_or_passed_through(duckrow: Duckrow) -> None:
    quiet = duckrow("run", "--slots", "1", stdin="echo hello; echo world >&2")
    assert quiet.stdout == ""
    assert duckrow("logs", "last").stdout == "hello\nworld\n"
    followed = duckrow("run", "--slots", "2", "--follow", "--name", "f", stdin="echo a; echo b\nprintf 'no newline'\n")
    assert sorted(followed.stdout.split("\n")) == ["", "[2 f] a", "[2 f] b", "[3 f] no newline"]
    passed = duckrow("run", "--slots", "1", "--passthrough", stdin="printf raw; printf err >&2")
    assert passed.stdout == "raw"
    assert passed.stderr.startswith("err")


def test_enough_failures_end_the_run(duckrow: Duckrow) -> None:
    done = duckrow("run", "--slots", "1", "--max-failures", "3", stdin="exit 4\n" * 50, ok=False)
    assert done.returncode == 1
    assert "3 failures: starting nothing more" in done.stderr
    assert "3 failed, 47 not started" in done.stderr
    assert duckrow.sql("SELECT count(*) FROM attempts") == [(3,)]


def test_thousands_of_jobs_that_fail_alike_are_told_as_one_error(duckrow: Duckrow) -> None:
    done = duckrow("run", "--slots", "4", stdin="echo the same error; exit 9\n" * 2000, ok=False)
    assert done.returncode == 1
    assert done.stderr.count("the same error") <= 8
    assert "2000 jobs" in done.stderr
    assert len(done.stderr.split("\n")) < 15


def test_a_dry_run_shows_what_would_run_where_and_runs_nothing(duckrow: Duckrow) -> None:
    file = jobs_file(duckrow, "touch a\ntouch b\ntouch c\n")
    shown = duckrow("run", "--devices", "0,1", "--dry-run", file).stdout.split("\n")
    assert [line.split() for line in shown[:3]] == [
        ["GPU", "0", "touch", "a"],
        ["GPU", "1", "touch", "b"],
        ["next", "free", "touch", "c"],
    ]
    assert not (duckrow.work / "a").exists()


def test_in_a_dry_run_nobody_overtakes_whom_they_would_not_overtake(duckrow: Duckrow) -> None:
    lines = [{"command": "a", "gpus": 1}, {"command": "b", "gpus": 2}, {"command": "c", "gpus": 1}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    shown = duckrow("run", "--devices", "0,1", "--format", "json", "--dry-run", stdin=text).stdout
    assert [line.split() for line in shown.splitlines()] == [
        ["GPU", "0", "a"],
        ["next", "free", "b"],
        ["next", "free", "c"],
    ]


def test_the_table_at_the_end_says_what_ran_where_and_how_it_ended(duckrow: Duckrow) -> None:
    done = duckrow("run", "--devices", "0,1", "--table", stdin="true\nexit 2\n", ok=False)
    header, first, second = done.stdout.strip().split("\n")
    assert header.split() == ["ID", "NAME", "STATE", "WHERE", "TIME", "EXIT", "COMMAND"]
    assert first.split()[:5] == ["1", "true", "succeeded", "GPU", "0"]
    assert second.split()[2:5] == ["failed", "GPU", "1"]


def test_impossible_requests_are_refused_with_what_is_possible(duckrow: Duckrow) -> None:
    for words, sentence in (
        (["--devices", "0,1", "--gpus", "3"], "there are 2: 0, 1"),
        (["--devices", "zero"], "does not name GPUs"),
        (["--slots", "1", "--gpus", "1"], "only 1 CPU slot"),
        (["--slots", "0"], "--slots"),
        (["--timeout", "soon"], "is not a time"),
        (["nosuchfile"], "cannot be read"),
        (["--wrong"], "There is no option --wrong"),
    ):
        refused = duckrow("run", *words, ok=False)
        assert refused.returncode == 2, words
        assert sentence in refused.stderr


def test_killing_a_job_of_a_run_from_another_terminal(duckrow: Duckrow) -> None:
    run, gate = start_interruptible(duckrow)
    duckrow("kill", "1")
    duckrow.wait_for(1, "killed")
    gate.touch()
    assert run.wait(DEADLINE_S) == 1
    assert run.stderr
    run.stderr.close()


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


def test_a_paused_run_says_so(duckrow: Duckrow) -> None:
    duckrow("pause")
    run = duckrow.spawn("run", "--slots", "1", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdin
    run.stdin.write(b"true\n")
    run.stdin.close()
    said(run, "everything is paused")
    duckrow("resume")
    assert run.wait(DEADLINE_S) == 0
    assert run.stderr
    run.stderr.close()


def test_a_run_without_gpus_does_not_say_how_it_packed_them(duckrow: Duckrow) -> None:
    done = duckrow("run", "--pack", "--slots", "2", stdin="sleep 0.2\nsleep 0.2\n")
    assert "packed" not in done.stderr


def test_cpu_slots_beside_gpus_are_used_by_a_run(duckrow: Duckrow) -> None:
    both = "echo x >> out; until [ $(wc -l < out) -ge 3 ]; do sleep 0.05; done\n"
    duckrow("run", "--devices", "0", "--slots", "2", stdin=both * 3)


def test_short_jobs_are_lined_up_and_still_counted_killed_and_interrupted_exactly(duckrow: Duckrow) -> None:
    (duckrow.work / "jobs.txt").write_text("echo $DUCKROW_JOB_ID >> out\n" * 3000)
    run = duckrow.spawn("run", "--slots", "2", "jobs.txt", stderr=subprocess.DEVNULL)
    until(lambda: len(lines_of(duckrow.work / "out")) > 200, "some jobs")
    duckrow("pause")
    until(lambda: duckrow.sql("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(0,)], "the pause")
    paused_at = len(lines_of(duckrow.work / "out"))
    assert 200 < paused_at < 3000
    assert duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(paused_at,)]
    duckrow("kill", "2990-3000")
    duckrow("resume")
    until(lambda: len(lines_of(duckrow.work / "out")) > paused_at + 200, "some more")
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 130
    assert duckrow.sql("SELECT count(*) FROM attempts WHERE ended_at IS NULL") == [(0,)]
    duckrow("run", "--slots", "2", "--resume", "jobs.txt")
    assert sorted(map(int, lines_of(duckrow.work / "out"))) == list(range(1, 3001))


def test_nobody_waits_in_line_behind_a_slow_job(duckrow: Duckrow) -> None:
    slow = "while [ ! -e gate ]; do sleep 0.05; done\n"
    (duckrow.work / "jobs.txt").write_text("true\n" * 60 + slow + "true\n" * 300)
    run = duckrow.spawn("run", "--slots", "2", "jobs.txt", stderr=subprocess.DEVNULL)
    until(lambda: (duckrow.home / "duckrow.db").exists(), "the database")
    until(
        lambda: (
            duckrow.sql("SELECT count(*) FROM sqlite_master WHERE name = 'jobs'") == [(1,)]
            and duckrow.sql("SELECT count(*) FROM jobs WHERE outcome = 'succeeded'") == [(360,)]
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


def test_a_pause_of_another_project_is_not_told(duckrow: Duckrow) -> None:
    duckrow("pause", "--project", "other")
    assert "paused" not in duckrow("run", "--slots", "1", stdin="sleep 0.1\n").stderr


def test_one_command_in_a_terminal_is_nothing_to_resume(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "1", "--name", "once", "--", "true")
    refused = duckrow("run", "--slots", "1", "--resume=once", ok=False)
    assert refused.returncode == 2
    assert "no earlier run" in refused.stderr


def test_no_process_is_left_after_a_run(duckrow: Duckrow) -> None:
    duckrow("run", "--slots", "2", stdin="true\n" * 5)
    until(lambda: not duckrow.processes(), "the keeper's end")
    assert list((duckrow.home / "keepers").iterdir()) == []
    assert json.loads(duckrow("gpus", "--json").stdout) == []
