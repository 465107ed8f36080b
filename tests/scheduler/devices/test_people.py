"""Who is behind the processes on a GPU that belong to no job of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duckrow.core.devices.policy import NO_POLICY
from duckrow.engines.local.processes.processes import TAG, attempts_of
from duckrow.kernel.process import program_of
from duckrow.scheduler.devices.people import ignored_among, people_behind
from tests.conftest import until

Start = Callable[[str, str], int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A process with this name and this tag; its PID."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, tag: str) -> int:
        (tmp_path / name).symlink_to(sys.executable)
        waits = [str(tmp_path / name), "-ISc", "input()"]
        started.append(subprocess.Popen(waits, stdin=subprocess.PIPE, env={**os.environ, TAG: tag}))
        until(lambda: program_of(started[-1].pid) == name[:15], "the program to run")
        return started[-1].pid

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_the_server_of_mps_that_duckrow_has_started_is_nobody(start: Start) -> None:
    """It is there whenever jobs share a GPU. If it counted as somebody, no job would ever start early."""
    pid = start("nvidia-cuda-mps-server", "mps./home/me/mps")
    owners = attempts_of([pid], {}, lambda _: True)
    ignored = ignored_among(owners, NO_POLICY)
    assert ignored == {pid}
    assert people_behind(owners, ignored) == {}


def test_a_job_of_another_duckrow_is_somebody(start: Start) -> None:
    pid = start("train", "elsewhere.1000001")
    owners = attempts_of([pid], {}, lambda _: False)
    assert ignored_among(owners, NO_POLICY) == set()
    assert people_behind(owners, set())[pid].program == "train"
