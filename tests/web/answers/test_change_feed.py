"""What those hear who listen for changes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from duckrow.api.queue.changes import Change
from duckrow.web.answers import change_feed as hub_module
from duckrow.web.answers.change_feed import ChangeFeed
from tests.conftest import DEADLINE_S

READINGS, JOBS = Change(jobs=False, devices=True), Change(jobs=True, devices=True)


def test_jobs_are_told_once_more_when_they_have_settled_although_readings_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts may be a little old when a change is told, and readings come all the time while somebody looks."""
    monkeypatch.setattr(hub_module, "_LOOK_S", 0.001)
    monkeypatch.setattr(hub_module, "_PER_STREAM_S", 0.0)
    monkeypatch.setattr(hub_module, "_SETTLED_S", 0.01)
    looks = iter([JOBS])
    heard: list[bool] = []

    async def listen() -> None:
        change_feed = ChangeFeed(str(tmp_path))
        monkeypatch.setattr(change_feed, "_look", lambda: next(looks, READINGS))
        running = asyncio.create_task(change_feed.run())
        with change_feed.stream() as listener:
            while sum(heard) < 2:
                change = await listener.wait(DEADLINE_S)
                assert change is not None
                heard.append(change.jobs)
        running.cancel()
        change_feed.close()

    asyncio.run(asyncio.wait_for(listen(), DEADLINE_S))


def test_a_hub_may_be_closed_by_the_signal_and_by_the_end_of_its_server(tmp_path: Path) -> None:
    change_feed = ChangeFeed(str(tmp_path))
    change_feed.close()
    change_feed.close()
    assert change_feed.closing.is_set()
