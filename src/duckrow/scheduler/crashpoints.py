"""Points in a tick where a test can make the scheduler die. Outside of tests, nothing happens there."""

from __future__ import annotations

from collections.abc import Callable

POINTS = ("observed", "decided", "recorded", "half-acted", "acted")


def _go_on(point: str) -> None: ...


at: Callable[[str], None] = _go_on
"""Called at each point. Only tests set it, from their own program (tests/system/crashing_duckrow.py)."""


def reach(point: str) -> None:
    at(point)
