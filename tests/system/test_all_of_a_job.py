"""A killed job is gone with everything, and so is one that has ended; its devices are free only then."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until
from tests.system.test_crashes import kill_daemon_and_keeper

# What runs away appends to `alive` as long as it lives. It ends by itself when the test is over, or after a while.
BEAT = """
import os, sys, time
def beat(number):
    with open(sys.argv[-1] + "/alive", "a") as file: file.write(".")
    if number > 20000 or os.path.exists(sys.argv[-1] + "/over"): os._exit(0)
"""
STAY = """
for number in range(10 ** 9):
    beat(number)
    time.sleep(0.01)
"""
CHAIN = """
for link in range(10 ** 9):
    beat(link)
    if os.fork(): os._exit(0)
    os.setsid()
    time.sleep(LINK_S)
"""
ESCAPES = f"""
import os, sys, time
WORK, STAY, CHAIN = sys.argv[2], {BEAT + STAY!r}, {BEAT + CHAIN!r}
def away():
    # Double fork, a session of its own, and no environment.
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    os.execve(sys.executable, [sys.executable, "-c", STAY, WORK], {{}})

def chain(link_s="0.0005"):
    # Forks, has a session of its own, and exits: over and over.
    if not os.fork(): exec(CHAIN.replace("LINK_S", link_s), {{}})

def slow_chain():
    # The same, and a link is seen now and then.
    chain("link % 7 * 0.002")

def bare_chain():
    # The same, without an environment.
    if not os.fork(): os.execve(sys.executable, [sys.executable, "-c", CHAIN.replace("LINK_S", "0.0005"), WORK], {{}})

globals()[sys.argv[1]]()
while not os.path.exists("gate"): time.sleep(0.01)
"""
HOW = ["away", "chain", "bare_chain", "slow_chain"]


def begin(duckrow: Duckrow, how: str) -> int:
    (duckrow.work / "escape.py").write_text(ESCAPES)
    job = duckrow.submit("--", f"exec {sys.executable} escape.py {how} {duckrow.work}")
    until(lambda: beats(duckrow) > 20, "its escape")
    return job


def beats(duckrow: Duckrow) -> int:
    alive = duckrow.work / "alive"
    return alive.stat().st_size if alive.exists() else 0


def wait_for_a_beat(duckrow: Duckrow) -> None:
    """Something that ran away is alive. On a busy machine it may be silent for a while."""
    before = beats(duckrow)
    until(lambda: beats(duckrow) > before, "a sign of life")


def is_beating(duckrow: Duckrow) -> bool:
    """Whether something that ran away is heard of while a command runs: only to see that it is not."""
    before = beats(duckrow)
    duckrow("ls")
    return beats(duckrow) > before


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test(duckrow: Duckrow) -> Iterator[None]:
    yield
    (duckrow.work / "over").touch()


@pytest.mark.parametrize(("how", "cgroups"), [*((how, "auto") for how in HOW), ("bare_chain", "off")])
def test_a_killed_job_is_gone_with_all_that_ran_away_from_it(duckrow: Duckrow, how: str, cgroups: str) -> None:
    duckrow.env["DUCKROW_CGROUPS"] = cgroups
    duckrow.up("--slots", "1")
    job = begin(duckrow, how)
    wait_for_a_beat(duckrow)
    duckrow("kill", "--now", str(job))
    duckrow.wait_for(job, "killed")
    assert not is_beating(duckrow)


@pytest.mark.parametrize("how", HOW)
def test_a_job_that_ends_takes_with_it_what_ran_away(duckrow: Duckrow, how: str) -> None:
    duckrow.up("--slots", "1")
    job = begin(duckrow, how)
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    assert not is_beating(duckrow)


def test_what_ran_away_ends_with_the_job_though_its_daemon_was_killed(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = begin(duckrow, "away")
    duckrow.kill_daemon()
    duckrow.up()
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    assert not is_beating(duckrow)


def test_what_may_be_anothers_ends_with_the_last_that_it_can_be_of(duckrow: Duckrow) -> None:
    duckrow.env["DUCKROW_CGROUPS"] = "off"  # with one, it is known whose it is
    duckrow.up("--slots", "2")
    other = duckrow.submit("--", "until test -e other-gate; do sleep 0.05; done")
    duckrow.wait_for(other, "running")
    job = begin(duckrow, "away")
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    wait_for_a_beat(duckrow)
    (duckrow.work / "other-gate").touch()
    duckrow.wait_for(other, "succeeded")
    assert not is_beating(duckrow)


TWO = "setsid sleep 600 & setsid sleep 600 &"


@pytest.mark.parametrize("how", ["sleep 600 &", "nohup sleep 600 & sleep 0.01", TWO])
def test_what_was_still_running_is_told(duckrow: Duckrow, how: str) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", how)
    duckrow.wait_for(job, "succeeded")
    count = "2 processes were still running and were" if how == TWO else "1 process was still running and was"
    assert f"{count} stopped: " in duckrow("show", str(job)).stdout
    assert "sleep 600 (process " in duckrow("logs", str(job)).stdout
    assert duckrow.job_processes() == []


def test_helpers_that_end_by_themselves_are_not_told(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    job = duckrow.submit("--", "sleep 0.01 & echo done")
    duckrow.wait_for(job, "succeeded")
    assert "still running" not in duckrow("show", str(job)).stdout
    assert duckrow("logs", str(job)).stdout == "done\n"


def test_a_device_is_free_when_nothing_of_a_lost_job_is_left(duckrow: Duckrow) -> None:
    duckrow.up("--devices", "0")
    child = "trap : TERM; echo $$ > child; while :; do sleep 0.02; done"
    job = duckrow.submit(
        "--gpus", "1", "--grace", "1s", "--", f"setsid sh -c '{child}' & until test -e gate; do sleep 0.05; done"
    )
    pid_file = duckrow.work / "child"
    pid = until(lambda: pid_file.exists() and pid_file.read_text().strip(), "its child")
    following = duckrow.submit("--gpus", "1", "--", f"! grep -q '^State:.[RSDT]' /proc/{pid}/status")
    duckrow.wait_for(job, "running")  # its PID is recorded
    kill_daemon_and_keeper(duckrow)
    first = int(duckrow.sql("SELECT pid FROM attempts")[0][0])
    (duckrow.work / "gate").touch()
    until(lambda: not Path(f"/proc/{first}").exists() or _is_zombie(first), "the end of its first process")
    duckrow.up()
    duckrow.wait_for(job, "lost")
    duckrow.wait_for(following, "succeeded")
    assert "still running and w" in duckrow("show", str(job)).stdout


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# -- capped logs ------------------------------------------------------------------------------------------------------


def test_a_job_with_a_capped_log_outlives_the_keeper(duckrow: Duckrow) -> None:
    daemon = duckrow.up("--slots", "1")
    loop = "until test -e gate; do echo line; sleep 0.05; done; echo last; exit 21"
    job = duckrow.submit("--max-log", "100k", "--", loop)
    duckrow.wait_for(job, "running")
    keeper = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(keeper, 9)
    until(lambda: "not running" in duckrow("gpus").stderr, "the daemon to step down")
    log = Path(duckrow.job(job)["log"])
    size = log.stat().st_size
    until(lambda: log.stat().st_size > size, "its log to grow")
    duckrow.up()
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "failed")
    assert duckrow.job(job)["exit_code"] == 21
    assert log.read_text().endswith("last\n")


def test_jobs_with_capped_logs_wait_where_files_are_scarce(duckrow: Duckrow) -> None:
    (duckrow.work / "jobs.txt").write_text("sleep 0.3; echo done\n" * 40)
    run = shlex.join(duckrow.command("run", "--slots", "40", "--max-log", "10k", "jobs.txt"))
    few = ["sh", "-c", f"ulimit -n 60; exec {run}"]
    done = subprocess.run(few, cwd=duckrow.work, env=duckrow.env, capture_output=True, text=True)
    assert "40 succeeded" in done.stderr, done.stderr
