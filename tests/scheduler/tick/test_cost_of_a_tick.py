"""What a tick costs, counted in Python's calls, not in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.scheduler.conftest import MakeQueue
from tests.scheduler.language import slots, succeeds


def calls_in(act: Callable[[], object]) -> int:
    """Of functions, and of generators each time that they continue."""
    count = 0

    def note(_frame: FrameType, event: str, _value: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


def test_the_next_jobs_start_at_the_same_cost_however_many_wait(make_queue: MakeQueue) -> None:
    queue = make_queue(slots(2))
    for _ in range(100):
        queue.add(succeeds(after_s=1))
    queue.passes(3)
    many = calls_in(lambda: queue.passes(1))
    queue.passes(40)
    few = calls_in(lambda: queue.passes(1))
    assert queue.state(100) == "queued"
    assert many <= few + 20
