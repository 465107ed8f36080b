"""Clocks that are set and machines that sleep: time limits, graces, delays and times of day with a real daemon."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import Duckrow, until
from tests.fake_clock import FakeClock

pytest_plugins = ("tests.fake_clock.plugin",)

HOUR_S = 3600.0


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
