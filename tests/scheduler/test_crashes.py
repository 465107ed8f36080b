"""A host that dies at any point of any tick: the next one finds out what happened, and nothing is lost or run twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from duckrow.scheduler import crashpoints
from duckrow.scheduler.crashpoints import POINTS
from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import Queue, fails, slots, succeeds


class Died(BaseException):
    """Nobody catches it, as nobody can catch SIGKILL."""


@pytest.fixture
def crashes() -> Iterator[None]:
    before = crashpoints.at
    yield
    crashpoints.at = before


def die_at(point: str, times: int) -> None:
    left = times

    def at(reached: str) -> None:
        nonlocal left
        left -= reached == point
        if left == 0:
            raise Died

    crashpoints.at = at


def passes_or_dies(queue: Queue, seconds: float) -> bool:
    """Whether the host lives afterwards."""
    try:
        queue.passes(seconds)
    except Died:
        crashpoints.at = lambda point: None
        queue.dies()
        return False
    return True


@pytest.mark.no_cover  # hundreds of ticks
@pytest.mark.parametrize("moment", range(1, 7))
@pytest.mark.parametrize("point", POINTS)
def test_a_host_that_dies_at_any_point_of_a_tick_loses_nothing(
    make_queue: MakeQueue, crashes: None, point: str, moment: int
) -> None:
    queue = make_queue(slots(2))
    good = [queue.add(succeeds(after_s=5)) for _ in range(3)]
    bad = queue.add(fails(after_s=5, code=7))
    after = queue.add(succeeds(after_s=5), after=[good[0]])
    die_at(point, moment)
    if not passes_or_dies(queue, 30):
        queue.passes(3)  # running jobs keep running meanwhile
        queue.begin()
    queue.passes(60)
    assert queue.states(*good, bad, after) == ["succeeded"] * 3 + ["failed", "succeeded"]
    begun = Counter(process.attempt_id // 1_000_000 for process in queue.machine.processes.values())
    assert set(begun.values()) == {1}
    assert queue.attempts(bad)[0].exit_code == 7
    assert queue.booked() == {}


def test_no_variable_makes_a_users_scheduler_die() -> None:
    code = "from duckrow.scheduler.crashpoints import POINTS, reach\nfor point in POINTS: reach(point)"
    environment = {**os.environ, "DUCKROW_CRASH_AT": "observed:1"}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0
