"""Control of the queue, where it needs processes and a daemon of its own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.conftest import Duckrow, until


def test_an_array_runs_one_job_an_index_and_so_many_at_a_time(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "4")
    command = "echo $DUCKROW_ARRAY_INDEX $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_JOB_ID >> out; "
    command += "ls run.* 2>/dev/null | wc -l >> most; "
    command += "touch run.$DUCKROW_ARRAY_INDEX; sleep 0.1; rm run.$DUCKROW_ARRAY_INDEX"
    assert duckrow("submit", "--array", "1-7:2,10%2", command).stdout == "1-5\n"
    duckrow("wait", "1-5")
    assert sorted((duckrow.work / "out").read_text().split("\n")[:-1]) == [
        "1 1 1",
        "10 10 1",
        "3 3 1",
        "5 5 1",
        "7 7 1",
    ]
    assert max(map(int, (duckrow.work / "most").read_text().split())) <= 1  # at most one beside itself
    assert duckrow("submit", "--array", "a-b", "true", ok=False).returncode == 2


def test_pause_may_suspend_what_runs(duckrow: Duckrow) -> None:
    # One process: a shell waits, in a way that no signal interrupts, until what it starts has begun, and that may be
    # suspended before.
    job = duckrow.submit("--", sys.executable, "-c", "import time; open('ticks', 'w'); time.sleep(600)")
    until((duckrow.work / "ticks").exists, "the job")
    said = duckrow("pause", "--stop-running").stderr
    assert "1 running job suspended. It keeps its GPU memory." in said
    leader = duckrow.job(job)["pid"]
    until(lambda: Path(f"/proc/{leader}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T", "the suspension")
    duckrow("resume")
    until(lambda: Path(f"/proc/{leader}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T", "the going on")
    os.kill(leader, signal.SIGSTOP)
    duckrow("kill", str(job))
    duckrow.wait_for(job, "killed")


def test_the_daemon_forgets_old_jobs_if_the_settings_say_so(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "1")
    for name in ("old", "young"):
        duckrow.submit("-n", name, "--", "echo", name)
    duckrow("wait", "1", "2")
    duckrow("down")
    duckrow.sql("UPDATE jobs SET changed_at = changed_at - 3600 * 24 * 91 WHERE name = 'old'")
    assert (duckrow.home / "runs" / "default" / "old" / "1").exists()
    duckrow.up()
    assert duckrow.sql("SELECT count(*) FROM jobs") == [(2,)]
    duckrow("down")
    duckrow.env["DUCKROW__DAEMON__KEEP"] = "90d"
    duckrow.up()
    until(lambda: duckrow.sql("SELECT name FROM jobs") == [("young",)], "the old job to be forgotten")
    until(lambda: not (duckrow.home / "runs" / "default" / "old" / "1").exists(), "the end of its folder")
    until(lambda: "1 job done for longer than" in (duckrow.home / "daemon.log").read_text(), "a line in the log")
    assert "no problem" in duckrow("doctor").stderr
