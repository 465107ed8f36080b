"""Clocks that are set and machines that sleep: time limits, graces, delays and times of day."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from duckrow.engines.dry.behaviour import Behaviour
from tests.cli.typed.dry_duckrow import DryDuckrow
from tests.cli.typed.shell import played

HOUR_S = 3600.0


@pytest.fixture
def daemon(duckrow: DryDuckrow) -> DryDuckrow:
    duckrow.up("--slots", "4")
    return duckrow


def step(daemon: DryDuckrow, seconds: float) -> None:
    """Somebody sets the wall clock."""
    daemon.clock.set_wall(daemon.clock.now().wall + seconds)
    daemon.settle()


def suspend(daemon: DryDuckrow, seconds: float) -> None:
    """The machine has slept: the wall clock and the time since boot went on, the monotonic clock did not."""
    daemon.clock.sleep(seconds)
    daemon.settle()


def lasted_s(daemon: DryDuckrow, job: int) -> float:
    return float(daemon.job(job)["duration_s"])


def test_a_clock_that_is_set_back_delays_no_time_limit(daemon: DryDuckrow) -> None:
    job = daemon.submit("--timeout", "1.5", "--", "sleep 600")
    step(daemon, -2 * HOUR_S)
    daemon.passes(1.4)
    assert daemon.state(job) == "running"
    daemon.passes(0.1)
    assert daemon.state(job) == "timed-out"
    assert lasted_s(daemon, job) == pytest.approx(1.5, abs=0.01)


def test_a_clock_that_is_set_ahead_and_a_night_of_sleep_time_nothing_out(daemon: DryDuckrow) -> None:
    job = daemon.submit("--timeout", "1h", "--", "sleep 36000")
    for change in (step, suspend):
        change(daemon, 2 * HOUR_S)
        assert daemon.state(job) == "running"
    assert lasted_s(daemon, job) == pytest.approx(2 * HOUR_S, abs=1), "the sleep is in it, not the step"
    daemon("kill", str(job))
    daemon.wait_for(job, "killed")
    assert lasted_s(daemon, job) == pytest.approx(2 * HOUR_S, abs=1)


def test_a_grace_is_neither_cut_short_nor_drawn_out_by_the_clock(daemon: DryDuckrow) -> None:
    daemon.does("deaf", Behaviour(runs_s=float("inf"), stops_after_s=None))
    patient = daemon.submit("--grace", "1h", "--", "deaf")
    short = daemon.submit("--grace", "1", "--", "deaf")
    step(daemon, 2 * HOUR_S)
    daemon("kill", str(patient))
    step(daemon, 2 * HOUR_S)
    assert daemon.state(patient) == "stopping"
    daemon("kill", str(short))
    step(daemon, -8 * HOUR_S)
    assert daemon.state(short) == "stopping"
    daemon.passes(1)
    assert (daemon.state(short), daemon.state(patient)) == ("killed", "stopping")


def test_a_time_limit_goes_on_in_the_next_daemon_whatever_the_clock_did_between(daemon: DryDuckrow) -> None:
    short = daemon.submit("--timeout", "1h", "--", "sleep 36000")
    long = daemon.submit("--timeout", "3h", "--", "sleep 36000")
    daemon.die()
    daemon.passes(HOUR_S)
    step(daemon, -2 * HOUR_S)
    daemon.up()
    daemon.settle()
    assert daemon.state(short) == "timed-out"
    step(daemon, 4 * HOUR_S)
    assert daemon.state(long) == "running"
    assert lasted_s(daemon, long) == pytest.approx(HOUR_S, abs=1)


def test_a_job_that_ran_when_the_database_was_upgraded_counts_from_its_wall_time(daemon: DryDuckrow) -> None:
    old = daemon.submit("--timeout", "1h", "--", "sleep 36000")
    new = daemon.submit("--timeout", "1h", "--", "sleep 36000")
    daemon.die()
    daemon.sql("UPDATE attempts SET started_mono = NULL, started_boot = NULL, started_at = started_at - 1800")
    daemon.sql("UPDATE attempts SET started_at = started_at - 1800 WHERE job_id = ?", old)
    daemon.up()
    daemon.passes(600)  # its start is worked out by the real clocks too, which are ahead where the machine is busy
    assert (daemon.state(old), daemon.state(new)) == ("timed-out", "running")


def test_a_back_off_and_a_delay_are_as_long_as_they_are(daemon: DryDuckrow) -> None:
    daemon.does("second time", played("false"), played("true"))
    short = daemon.submit("--retries", "1", "--backoff", "1s", "--", "second time")
    long = daemon.submit("--retries", "1", "--backoff", "1h", "--", "exit 1")
    soon, late = daemon.submit("--begin", "+1s", "--", "true"), daemon.submit("--begin", "+1h", "--", "true")
    daemon.passes(0.5)
    assert (daemon.job(long)["attempts"], daemon.state(long)) == (1, "queued")
    step(daemon, -2 * HOUR_S)
    assert [daemon.state(job) for job in (short, soon)] == ["queued", "queued"]
    daemon.passes(1)
    assert [daemon.state(job) for job in (short, soon)] == ["succeeded", "succeeded"]
    step(daemon, 4 * HOUR_S)
    assert [daemon.state(job) for job in (long, late)] == ["queued", "queued"]
    assert "it starts in 59m 5" in daemon("why", str(late)).stdout
    suspend(daemon, 2 * HOUR_S)  # a delay goes on while the machine sleeps
    daemon.wait_for(late, "succeeded")
    daemon.wait_for(long, "failed")


def test_a_time_of_day_follows_a_clock_that_is_set(daemon: DryDuckrow) -> None:
    job = daemon.submit("--begin", str(datetime.now() + timedelta(hours=1)), "--", "true")
    step(daemon, -2 * HOUR_S)
    assert daemon.state(job) == "queued"
    step(daemon, 3 * HOUR_S + 1)
    daemon.wait_for(job, "succeeded")
