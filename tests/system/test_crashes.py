"""The scheduler dies at the worst moments; no job is lost, none runs twice, every exit code is known.

In one of ten cases its journal is damaged just before.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from duckrow.kernel.process import children_of, identity_of, read_process, signal_process
from duckrow.scheduler.crashpoints import POINTS
from tests.conftest import Duckrow, is_running, until
from tests.fork_server import Program

CRASHING = Path(__file__).parent / "crashing_duckrow.py"
SOAK = bool(os.environ.get("DUCKROW_SOAK"))
KILLS = 1000 if SOAK else 60
JOBS = 3000 if SOAK else 180
PARTS = 4  # of it, for as many processes that run tests


def code_of(number: int) -> int:
    """No GPU is blamed for these codes, so that a job which fails is not tried on another one."""
    return (0, 126, 127)[number % 3]


def write_jobs(duckrow: Duckrow, count: int, naps: Sequence[str] = ("0", "0.01", "0.05", "0.2")) -> Path:
    """Jobs that append a line when they begin and when they end, lock their device, and end with a code of their own.

    The device's lock is a folder: the second holder of a device cannot make it, and says so.
    """
    ran, clash = duckrow.work / "ran", duckrow.work / "clash"
    locks = duckrow.work / "locks"
    locks.mkdir()
    lines = []
    for number in range(count):
        nap = random.Random(number).choice(naps)
        lines.append(
            f"mkdir {locks}/$CUDA_VISIBLE_DEVICES || echo {number} >> {clash}; echo begin {number} >> {ran}; "
            f"sleep {nap}; echo end {number} >> {ran}; rmdir {locks}/$CUDA_VISIBLE_DEVICES; exit {code_of(number)}"
        )
    file = duckrow.work / "jobs.txt"
    file.write_text("\n".join(lines) + "\n")
    return file


def check_each_ran_once(duckrow: Duckrow, count: int) -> None:
    views = json.loads(duckrow("ls", "--all", "--json").stdout)
    assert len(views) == count
    wrong = [view["id"] for number, view in enumerate(views) if view["exit_code"] != code_of(number)]
    assert not wrong, duckrow("show", *map(str, wrong)).stdout
    outcomes = {(view["exit_code"] == 0, view["outcome"]) for view in views}
    assert outcomes == {(True, "succeeded"), (False, "failed")}
    assert {view["attempts"] for view in views} == {1}
    ran = (duckrow.work / "ran").read_text().split("\n")[:-1]
    assert sorted(ran) == sorted(f"{what} {number}" for number in range(count) for what in ("begin", "end"))
    assert not (duckrow.work / "clash").exists(), (duckrow.work / "clash").read_text()


@pytest.mark.parametrize("part", range(PARTS))
def test_a_daemon_that_is_killed_again_and_again_loses_nothing_and_runs_nothing_twice(
    duckrow: Duckrow, part: int
) -> None:
    duckrow.up("--devices", "0,1,2")
    file = write_jobs(duckrow, JOBS // PARTS)
    duckrow("pause")
    duckrow("submit", "--gpus", "1", "--file", str(file))
    duckrow("resume")
    chance = random.Random(part)
    for kill in range(KILLS // PARTS):
        # Most kills strike within the first busy milliseconds; some let the jobs of several ticks go by.
        time.sleep(chance.choice([0, 0.001, 0.003, 0.01, 0.03, 0.1]))  # in time: the moment of death is the input
        if kill % 10 == 7:
            DAMAGE[chance.choice([*DAMAGE])](journal_of(duckrow.daemon_pid()))
        duckrow.kill_daemon()
        if kill % 10 == 3:
            check_device_bookings(duckrow)
        duckrow.up()
    duckrow("wait", "--all", ok=False)
    check_each_ran_once(duckrow, JOBS // PARTS)


def test_short_jobs_in_lines_run_once_however_often_their_starters_and_the_daemon_are_killed(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1,2")
    gate = duckrow.work / "gate"
    long = duckrow.submit("--gpus", "1", "--", f"while [ ! -e {gate} ]; do sleep 0.05; done")  # its keepers live on
    file = write_jobs(duckrow, JOBS * 3, naps=["0"])
    duckrow("submit", "--gpus", "1", "--file", str(file))
    chance = random.Random(0)
    for kill in range(KILLS // 3):
        time.sleep(chance.choice([0.003, 0.01, 0.03]))  # in time: the moment of death is the input
        if kill % 4 == 1:
            duckrow.kill_daemon()
            duckrow.up()
        elif kill % 4 == 3:
            os.kill(parent_of(duckrow.daemon_pid()), signal.SIGKILL)
            until(lambda: not duckrow.lives(1), "a daemon without a keeper to step down")
            duckrow.up()
        else:
            kill_a_starter(duckrow.daemon_pid())
    duckrow("wait", f"{long + 1}-{long + JOBS * 3}", ok=False)
    gate.touch()
    duckrow("wait", str(long))
    duckrow("rm", str(long))
    check_each_ran_once(duckrow, JOBS * 3)


def kill_a_starter(daemon: int) -> None:
    """If there is one: where other work has the cores, jobs take too long for lines."""
    starters = (pid for pid in children_of(daemon) if is_starter(pid, daemon))
    next((pid for pid in starters if signal_process(identity_of(pid), signal.SIGKILL)), None)


def is_starter(pid: int, daemon: int) -> bool:
    """A job has a session of its own, unless it is forked at this moment: then the journal does not name it as this."""
    process = read_process(pid)
    return (
        process is not None and process.session == os.getsid(daemon) and f"F {pid}\n" in journal_of(daemon).read_text()
    )


DAMAGE: dict[str, Callable[[Path], object]] = {
    "emptied": lambda journal: journal.write_bytes(b""),
    "overwritten": lambda journal: journal.write_bytes(b"rubbish " * 1000),
    "removed": lambda journal: journal.unlink(),
    "moved away": lambda journal: journal.rename(journal.parent.parent / "elsewhere"),
}


def journal_of(daemon: int) -> Path:
    """The journal that a daemon has open."""
    links = (os.readlink(link) for link in Path(f"/proc/{daemon}/fd").iterdir())
    return next(Path(target) for target in links if Path(target).parent.name == "keepers")


def check_device_bookings(duckrow: Duckrow) -> None:
    """In the database no device is held by two attempts that run: others may be lined up behind them."""
    rows = duckrow.sql("SELECT holds FROM attempts WHERE ended_at IS NULL AND pid IS NOT NULL")
    devices = [device for (holds,) in rows for device, _ in json.loads(holds)]
    assert len(devices) == len(set(devices))


@pytest.mark.parametrize("point", POINTS)
def test_a_daemon_that_dies_at_each_step_of_its_tick_loses_nothing(duckrow: Duckrow, point: str) -> None:
    count = 18
    duckrow.up("--devices", "0,1")
    file = write_jobs(duckrow, count)
    duckrow("submit", "--gpus", "1", "--file", str(file))
    deaths = 0
    for moment in range(1, 9 if SOAK else 5):
        duckrow.kill_daemon()
        until(lambda: not duckrow.processes(), "free devices, so that several jobs start in one tick")
        words = [sys.executable, str(CRASHING), f"{point}:{moment}", "up", "--foreground"]
        dying = Program[bytes](words, env=duckrow.env, cwd=duckrow.work)
        try:
            until(lambda dying=dying: dying.poll() is not None or all_done(duckrow), "death or the end")  # type: ignore[misc]
        finally:
            if all_done(duckrow):
                dying.kill()
            deaths += dying.wait() == 128 + signal.SIGKILL
        duckrow.up()
        if all_done(duckrow):
            break
    assert deaths >= 1
    duckrow("wait", "--all", ok=False)
    check_each_ran_once(duckrow, count)


def all_done(duckrow: Duckrow) -> bool:
    return duckrow.sql("SELECT count(*) FROM jobs WHERE state <> 'done'") == [(0,)]


def test_jobs_go_on_while_the_daemon_is_dead_and_their_exit_codes_are_known_afterwards(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1")
    gate = duckrow.work / "gate"
    ended = duckrow.submit("--gpus", "1", "--", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 42")
    longer = duckrow.submit("--gpus", "1", "--", f"while [ ! -e {gate}2 ]; do sleep 0.05; done; exit 43")
    waiting = duckrow.submit("--gpus", "1", "--", "exit 44")
    duckrow.wait_for(longer, "running")
    pids = {row[0] for row in duckrow.sql("SELECT pid FROM attempts")}
    duckrow.kill_daemon()
    gate.touch()
    until(lambda: sum(is_running(pid) for pid in pids) == 1, "the end of the first job")
    assert duckrow.state(ended) == "running"
    duckrow.up()
    duckrow.wait_for(ended, "failed")
    assert duckrow.state(longer) == "running"
    duckrow.wait_for(waiting, "failed")
    (duckrow.work / "gate2").touch()
    duckrow.wait_for(longer, "failed")
    assert [duckrow.job(job)["exit_code"] for job in (ended, longer, waiting)] == [42, 43, 44]


def test_a_job_killed_by_a_signal_while_the_daemon_is_dead_is_known_by_its_signal(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "exec sleep 600")
    duckrow.wait_for(job, "running")
    pid = int(duckrow.sql("SELECT pid FROM attempts")[0][0])
    duckrow.kill_daemon()
    os.kill(pid, signal.SIGSEGV)
    duckrow.up()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["signal"] == signal.SIGSEGV


def test_a_daemon_whose_keeper_is_killed_steps_down_and_loses_no_exit_code(duckrow: Duckrow) -> None:
    daemon = duckrow.up("--slots", "2")
    gate = duckrow.work / "gate"
    job = duckrow.submit("--", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 21")
    duckrow.wait_for(job, "running")
    os.kill(parent_of(daemon), signal.SIGKILL)
    until(lambda: "not running" in duckrow("gpus").stderr, "the daemon to step down")
    waiting = duckrow.submit("--", "true")  # starts a new daemon
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.daemon_pid() != daemon
    gate.touch()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 21
    until(lambda: not is_running(daemon), "the end of the old one")


def test_an_end_that_nobody_saw_is_lost_and_never_succeeded(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    gate = duckrow.work / "gate"
    job = duckrow.submit("--", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    retried = duckrow.submit("--retries", "1", "--backoff", "0", "--", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    waiting = duckrow.submit("--", "true")
    duckrow.wait_for(retried, "running")
    kill_daemon_and_keeper(duckrow)
    duckrow.up()
    assert duckrow.state(job) == "running"  # its process lives, and so it keeps its device
    assert duckrow.state(waiting) == "queued"
    gate.touch()
    duckrow.wait_for(job, "lost")
    duckrow.wait_for(retried, "succeeded")
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.job(retried)["attempts"] == 2


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def kill_daemon_and_keeper(duckrow: Duckrow) -> None:
    daemon = duckrow.daemon_pid()
    keeper = parent_of(daemon)
    for pid in (daemon, keeper):
        os.kill(pid, signal.SIGSTOP)  # neither may see the other die
    for pid in (daemon, keeper):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(daemon) and not is_running(keeper), "their end")


def restart_the_machine(duckrow: Duckrow) -> None:
    """As far as can be told from what is there afterwards."""
    duckrow.kill_everything()
    duckrow.sql("UPDATE hosts SET boot_id = 'an earlier boot'")


def test_after_a_reboot_jobs_that_should_be_go_back_into_the_queue_but_not_for_ever(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    lost = duckrow.submit("--", "sleep 600")
    job = duckrow.submit("--requeue-lost", "--", "sleep 600")
    duckrow.wait_for(job, "running")
    duckrow.wait_for(lost, "running")
    restart_the_machine(duckrow)
    duckrow.up()
    duckrow.wait_for(lost, "lost")
    until(lambda: duckrow.sql("SELECT state, attempts, losses, retries_used FROM jobs WHERE id = ?", job) ==
          [("running", 2, 1, 0)], "its next attempt")  # fmt: skip
    story = duckrow.job(job)
    assert story["requeue_lost"]
    assert "lost: the machine was restarted while it ran; requeued" in [e["detail"] for e in story["events"]]
    assert ["if", "lost", "requeue"] in [line.split() for line in duckrow("show", str(job)).stdout.splitlines()]
    duckrow.sql("UPDATE jobs SET losses = 5 WHERE id = ?", job)
    restart_the_machine(duckrow)
    duckrow.up()
    duckrow.wait_for(job, "lost")
    assert "lost 6 times in a row" in duckrow.job(job)["detail"]
    duckrow("rerun", str(job))
    duckrow.wait_for(job, "running")
    assert duckrow.sql("SELECT losses FROM jobs WHERE id = ?", job) == [(0,)]


def test_what_goes_back_when_it_is_lost_can_be_said_everywhere(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("pause")
    plain = duckrow.submit("--", "true")
    duckrow.env["DUCKROW__JOB__REQUEUE_LOST"] = "true"
    jobs = {
        duckrow.submit("--", "true"): True,
        duckrow.submit("--no-requeue-lost", "--", "true"): False,
        plain: False,
    }
    program = "import duckrow; print(duckrow.submit('true', requeue_lost=False).id, duckrow.submit('true').id)"
    done = subprocess.run([sys.executable, "-c", program], env=duckrow.env, capture_output=True, text=True, check=True)
    without, with_it = map(int, done.stdout.split())
    jobs |= {without: False, with_it: True}
    assert {job: duckrow.job(job)["requeue_lost"] for job in jobs} == jobs
    duckrow("edit", str(plain), "--requeue-lost")
    duckrow("edit", str(with_it), "--no-requeue-lost")
    assert (duckrow.job(plain)["requeue_lost"], duckrow.job(with_it)["requeue_lost"]) == (True, False)
    duckrow("resume")
    duckrow("wait", "--all")
    line = '{"command": "true", "requeue_lost": false}\n{"command": "true"}\n'
    duckrow("run", "--slots", "1", "--format", "json", stdin=line)
    assert duckrow.sql("SELECT requeue_lost FROM jobs ORDER BY id DESC LIMIT 2") == [(1,), (0,)]


def test_after_a_reboot_running_jobs_are_lost_and_follow_their_retry_policy(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0,1,2")
    once = duckrow.submit("--gpus", "1", "--", "sleep 600")
    retried = duckrow.submit(
        "--gpus", "1", "--retries", "1", "--backoff", "0", "--", f"echo x >> {duckrow.work}/ran; sleep 600"
    )
    ended = duckrow.submit("--gpus", "1", "--", "until test -e gate; do sleep 0.05; done; exit 5")
    waiting = duckrow.submit("--gpus", "3", "--", "true")
    for job in (once, retried, ended):
        duckrow.wait_for(job, "running")
    duckrow.kill_daemon()
    (duckrow.work / "gate").touch()
    until(lambda: len(duckrow.job_processes()) <= 4, "the short job's end")
    journal = next((duckrow.home / "keepers").iterdir())
    until(lambda: "\nE " in journal.read_text(), "the record of the short job's end")
    duckrow.kill_everything()
    duckrow.sql("UPDATE hosts SET boot_id = 'an earlier boot'")
    duckrow.up()
    duckrow.wait_for(once, "lost")
    duckrow.wait_for(retried, "running")
    duckrow.wait_for(ended, "failed")  # it ended before the power went, and that was on disk
    assert duckrow.state(waiting) == "queued"
    duckrow("kill", str(retried))
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.job(once)["detail"] == "the machine was restarted while it ran"


def test_a_reused_pid_is_not_taken_for_the_job(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "sleep 600")
    duckrow.wait_for(job, "running")
    kill_daemon_and_keeper(duckrow)
    pid = duckrow.sql("SELECT pid FROM attempts")[0][0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid), "the job's end")
    # The PID comes round, as it cannot within a moment: now it is that of a process that began later.
    seen = time.clock_gettime(time.CLOCK_BOOTTIME)
    until(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) > seen + 0.1, "a later moment")
    bystander = duckrow.spawn("run", "--slots", "1", "--", "sleep", "600")
    journal = next(path for path in (duckrow.home / "keepers").iterdir() if f" {pid} " in path.read_text())
    journal.write_text(journal.read_text().replace(f" {pid} ", f" {bystander.pid} "))
    duckrow.sql("UPDATE attempts SET pid = ? WHERE job_id = ?", bystander.pid, job)
    try:
        duckrow.up()
        duckrow.wait_for(job, "lost")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_run_that_is_killed_leaves_its_jobs_to_the_daemon(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    gate = duckrow.work / "gate"
    (duckrow.work / "jobs.txt").write_text(f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 9\ntrue\n")
    run = duckrow.spawn("run", "--devices", "0", "jobs.txt")
    until(lambda: duckrow.sql("SELECT count(*) FROM jobs") == [(2,)], "the run's jobs")
    duckrow.wait_for(1, "running")
    waiting = duckrow.submit("--gpus", "1", "--", "true")
    run.kill()
    run.wait()
    gate.touch()
    duckrow.wait_for(1, "failed")
    assert duckrow.job(1)["exit_code"] == 9
    duckrow.wait_for(waiting, "succeeded")
    assert duckrow.state(2) == "queued"  # only its own run may dispatch it
    duckrow("run", "--devices", "0", "--resume", "jobs.txt", ok=False)
    assert duckrow.state(2) == "succeeded"
