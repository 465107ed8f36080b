"""Jobs that last get their own cgroup, if one is available: no process escapes it, and it is removed with the job."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.kernel.cgroup_place import place_of_host
from tests.conftest import Duckrow, is_running, until
from tests.system.test_all_of_a_job import ESCAPES, beats, is_beating

pytestmark = pytest.mark.skipif(bool(place_of_host(os.getpid()).why_not), reason=place_of_host(os.getpid()).way)


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test(duckrow: Duckrow) -> Iterator[None]:
    yield
    (duckrow.work / "over").touch()


def begin(duckrow: Duckrow, command: str) -> tuple[int, AttemptGroup]:
    """A job that is in its group before it runs this command."""
    before = {group.folder for group in duckrow.groups()}
    job = duckrow.submit("--", f"until test -e go; do sleep 0.02; done; {command}")

    def group_of_it() -> list[AttemptGroup]:
        return [group for group in duckrow.groups() if group.folder not in before and not group.is_empty]

    (group,) = until(group_of_it, "its group")
    return job, group


def escape(duckrow: Duckrow, how: str) -> tuple[int, AttemptGroup]:
    (duckrow.work / "escape.py").write_text(ESCAPES)
    job, group = begin(duckrow, f"exec {sys.executable} escape.py {how} {duckrow.work}")
    (duckrow.work / "go").touch()
    until(lambda: beats(duckrow) > 20, "its escape")
    return job, group


def other_job(duckrow: Duckrow) -> int:
    """What runs away without a mark might be this one's, if no group told."""
    job = duckrow.submit("--", "sleep 600")
    duckrow.wait_for(job, "running")
    until(lambda: len(duckrow.groups()) == 1, "its group")
    return job


def test_a_job_is_killed_by_its_group_though_what_ran_away_might_be_anothers(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    other = other_job(duckrow)
    job, group = escape(duckrow, "bare_chain")
    duckrow("kill", "--now", str(job))
    duckrow.wait_for(job, "killed")
    assert not is_beating(duckrow)
    assert duckrow.state(other) == "running"
    until(lambda: not os.path.exists(group.folder), "the end of its group")
    assert len(duckrow.groups()) == 1


def test_what_ran_away_ends_with_its_own_job_and_is_told(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    other = other_job(duckrow)
    job, _ = escape(duckrow, "away")
    (duckrow.work / "gate").touch()
    duckrow.wait_for(job, "succeeded")
    assert not is_beating(duckrow)
    assert "1 process was still running and was stopped: " in duckrow("show", str(job)).stdout
    assert duckrow.state(other) == "running"
    until(lambda: len(duckrow.groups()) == 1, "the end of its group")


def test_a_later_daemon_finds_the_groups_again(duckrow: Duckrow) -> None:
    duckrow.up("--slots", "2")
    other = other_job(duckrow)
    job, group = escape(duckrow, "away")
    duckrow.kill_daemon()
    duckrow.up()
    duckrow("kill", "--now", str(job))
    duckrow.wait_for(job, "killed")
    assert not is_beating(duckrow)
    until(lambda: not os.path.exists(group.folder), "the end of its group")
    duckrow("kill", "--now", str(other))
    until(lambda: duckrow.groups() == [], "the end of all groups")


def test_a_run_leaves_no_group(duckrow: Duckrow) -> None:
    run = duckrow.spawn("run", "--slots", "1", "--", "until test -e go; do sleep 0.02; done")
    until(duckrow.groups, "its group")
    (duckrow.work / "go").touch()
    assert run.wait() == 0
    assert duckrow.groups() == []


def test_a_daemon_that_a_job_has_started_outlives_the_job(duckrow: Duckrow, tmp_path: Path) -> None:
    inner = Duckrow(tmp_path / "inner", duckrow.work)
    try:
        duckrow.up("--slots", "1")
        up = " ".join(duckrow.command("up", "--slots", "1"))
        job, group = begin(duckrow, f"DUCKROW_HOME={inner.home} {up}")
        (duckrow.work / "go").touch()
        duckrow.wait_for(job, "succeeded")
        assert is_running(inner.daemon_pid())
        assert "still running" not in duckrow("show", str(job)).stdout
        until(lambda: not os.path.exists(group.folder), "the end of its group")
        (found,) = [
            each for each in json.loads(inner("doctor", "--json", ok=False).stdout) if each["check"] == "processes"
        ]
        assert group.folder not in found["found"]
    finally:
        inner.kill_everything()
