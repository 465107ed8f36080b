"""Clocks that are set and machines that sleep: time limits, graces, delays and times of day with a real daemon."""

from __future__ import annotations

import os
import re
import signal
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until
from tests.fake_clock import FakeClock

pytest_plugins = ("tests.fake_clock.plugin",)

HOUR_S = 3600.0
DEAF = "trap '' TERM; touch up; while :; do sleep 0.05; done"


@pytest.fixture
def daemon(duckrow: Duckrow, clock: FakeClock) -> Duckrow:
    """A daemon whose clocks the test can set."""
    duckrow.env.update(clock.env())
    duckrow.up("--slots", "4")
    return duckrow


def nudge(daemon: Duckrow) -> None:
    """Have the daemon look at its clocks, as the kernel does when a real one is set: another job has run."""
    daemon.wait_for(daemon.submit("--", "true"), "succeeded")


def lasted_s(daemon: Duckrow, job: int) -> float:
    return float(daemon.job(job)["duration_s"])


def test_a_clock_that_is_set_back_delays_no_time_limit(daemon: Duckrow, clock: FakeClock) -> None:
    job = daemon.submit("--timeout", "1.5", "--", "exec sleep 600")
    daemon.wait_for(job, "running")
    clock.step(-2 * HOUR_S)
    nudge(daemon)
    daemon.wait_for(job, "timed-out")
    assert 1.5 <= lasted_s(daemon, job) < 60


def test_a_clock_that_is_set_ahead_and_a_night_of_sleep_time_nothing_out(daemon: Duckrow, clock: FakeClock) -> None:
    job = daemon.submit("--timeout", "1h", "--", "exec sleep 600")
    daemon.wait_for(job, "running")
    for change in (clock.step, clock.suspend):
        change(2 * HOUR_S)
        nudge(daemon)
        assert daemon.state(job) == "running"
    assert 2 * HOUR_S <= lasted_s(daemon, job) < 2.5 * HOUR_S, "what people see has the sleep in it, not the step"
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    assert 2 * HOUR_S <= lasted_s(daemon, job) < 2.5 * HOUR_S


def test_a_grace_is_neither_cut_short_nor_drawn_out_by_the_clock(daemon: Duckrow, clock: FakeClock) -> None:
    patient = daemon.submit("--grace", "1h", "--", DEAF)
    short = daemon.submit("--grace", "1", "--", DEAF.replace("up", "up2"))
    until(lambda: (daemon.work / "up").exists() and (daemon.work / "up2").exists(), "both to be deaf")
    clock.step(2 * HOUR_S)
    daemon("kill", str(patient))
    daemon.wait_for(patient, "stopping")
    clock.step(2 * HOUR_S)
    nudge(daemon)
    assert daemon.state(patient) == "stopping"
    daemon("kill", str(short))
    daemon.wait_for(short, "stopping")
    clock.step(-8 * HOUR_S)
    nudge(daemon)
    daemon.wait_for(short, "killed")


def test_a_time_limit_goes_on_in_the_next_daemon_whatever_the_clock_did_between(
    daemon: Duckrow, clock: FakeClock
) -> None:
    short = daemon.submit("--timeout", "1h", "--", "exec sleep 600")
    long = daemon.submit("--timeout", "1h", "--", "exec sleep 600")
    daemon.wait_for(short, "running")
    daemon.wait_for(long, "running")
    daemon.kill_daemon()
    daemon.sql("UPDATE attempts SET started_mono = started_mono - 3600 WHERE job_id = ?", short)
    clock.step(-2 * HOUR_S)
    daemon.up()
    daemon.wait_for(short, "timed-out")
    clock.step(4 * HOUR_S)
    nudge(daemon)
    assert daemon.state(long) == "running"
    assert 0 <= lasted_s(daemon, long) < HOUR_S / 2


def test_a_job_that_ran_when_the_database_was_upgraded_counts_from_its_wall_time(daemon: Duckrow) -> None:
    old = daemon.submit("--timeout", "1h", "--", "exec sleep 600")
    new = daemon.submit("--timeout", "1h", "--", "exec sleep 600")
    daemon.wait_for(old, "running")
    daemon.wait_for(new, "running")
    daemon.kill_daemon()
    daemon.sql("UPDATE attempts SET started_mono = NULL, started_boot = NULL, started_at = started_at - 1800")
    daemon.sql("UPDATE attempts SET started_at = started_at - 1800 WHERE job_id = ?", old)
    daemon.up()
    daemon.wait_for(old, "timed-out")
    assert daemon.state(new) == "running"


def test_a_back_off_and_a_delay_are_as_long_as_they_are(daemon: Duckrow, clock: FakeClock) -> None:
    short = daemon.submit("--retries", "1", "--backoff", "1s", "--", "test $DUCKROW_ATTEMPT = 2")
    long = daemon.submit("--retries", "1", "--backoff", "1h", "--", "exit 1")
    soon, late = daemon.submit("--begin", "+1s", "--", "true"), daemon.submit("--begin", "+1h", "--", "true")
    until(lambda: daemon.job(long)["attempts"] == 1 and daemon.state(long) == "queued", "the first attempt")
    clock.step(-2 * HOUR_S)
    nudge(daemon)
    daemon.wait_for(short, "succeeded")
    daemon.wait_for(soon, "succeeded")
    clock.step(4 * HOUR_S)
    nudge(daemon)
    assert [daemon.state(job) for job in (long, late)] == ["queued", "queued"]
    assert re.search(r"it starts in 5\dm \d+s", daemon("why", str(late)).stdout)
    clock.suspend(2 * HOUR_S)  # a delay goes on while the machine sleeps
    nudge(daemon)
    daemon.wait_for(late, "succeeded")
    daemon.wait_for(long, "failed")


def test_a_time_of_day_follows_a_clock_that_is_set(daemon: Duckrow, clock: FakeClock) -> None:
    job = daemon.submit("--begin", str(datetime.now() + timedelta(hours=1)), "--", "true")
    clock.step(-2 * HOUR_S)
    nudge(daemon)
    assert daemon.state(job) == "queued"
    clock.step(3 * HOUR_S + 1)
    nudge(daemon)
    daemon.wait_for(job, "succeeded")


def test_a_job_that_ends_while_the_daemon_is_stopped_keeps_its_own_time(duckrow: Duckrow) -> None:
    daemon_pid = duckrow.up("--slots", "2")
    ends, goes_on = (duckrow.submit("--", f"until [ -e {gate} ]; do sleep 0.02; done") for gate in ("gate", "later"))
    duckrow.wait_for(ends, "running")
    duckrow.wait_for(goes_on, "running")
    pid = duckrow.job(ends)["pid"]
    os.kill(daemon_pid, signal.SIGSTOP)
    until(lambda: state_of(daemon_pid) == "T", "the daemon to be stopped")
    (duckrow.work / "gate").touch()
    until(lambda: state_of(pid) == "Z", "the end of the job")
    ended_at = time.time()
    until(lambda: time.time() > ended_at + 1, "some time to pass")
    went_on_at = time.time()
    os.kill(daemon_pid, signal.SIGCONT)
    duckrow.wait_for(ends, "succeeded")
    assert duckrow.job(ends)["ended_at"] < went_on_at
    assert duckrow.job(ends)["exit_code"] == 0
    (duckrow.work / "later").touch()
    duckrow.wait_for(goes_on, "succeeded")
    assert duckrow.job(goes_on)["ended_at"] > went_on_at


def state_of(pid: int) -> str:
    """As the kernel abbreviates it."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
