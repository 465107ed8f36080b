"""The verbs by name, as the page sends them."""

from __future__ import annotations

from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs import actions
from duckrow.api.jobs.actions import act
from duckrow.api.jobs.limit import limit_project, project_limits
from duckrow.api.queue.listing import listing
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.wishes import Wish
from tests.api.quiet_queue import QuietQueue


@pytest.fixture
def four(queue: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> QuietQueue:
    """Four jobs wait; no daemon is there to fulfil a wish."""
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)
    queue.add(*"abcd")
    return queue


def order(queue: QuietQueue) -> list[int]:
    return [view.id for view in listing(queue.client, Filter(["queued"]))]


def wishes(queue: QuietQueue) -> list[tuple[int, str]]:
    return [tuple(row) for row in queue.client.database.all("SELECT job_id, wish FROM wishes ORDER BY job_id")]


@pytest.mark.parametrize("said", [{"priority": 99}, {"before": 1}])
def test_priorities_and_places_are_changed(four: QuietQueue, said: dict[str, Any]) -> None:
    (action,) = said
    act(four.client, action, [3], **said)
    assert order(four) == [3, 1, 2, 4]


@pytest.mark.parametrize("action", ["priority", "before"])
def test_an_action_that_needs_a_number_says_so(four: QuietQueue, action: str) -> None:
    with pytest.raises(UsageError, match=f"'{action}' needs a number"):
        act(four.client, action, [3])


@pytest.mark.parametrize(("now", "wish"), [(False, Wish.KILL), (True, Wish.KILL_NOW)])
def test_a_kill_has_its_grace_unless_it_is_meant_at_once(four: QuietQueue, now: bool, wish: Wish) -> None:
    act(four.client, "kill", [2], now=now)
    assert wishes(four) == [(2, wish)]


def test_jobs_that_were_moved_are_put_back_to_their_places(four: QuietQueue) -> None:
    moved = act(four.client, "first", [3])
    assert order(four) == [3, 1, 2, 4]
    assert moved.undo is not None
    undo = dict(moved.undo)
    act(four.client, undo.pop("action"), undo.pop("ids"), **undo)
    assert order(four) == [1, 2, 3, 4]


def test_one_that_failed_runs_again_with_changes(four: QuietQueue) -> None:
    four.offers(cpu_seats(1))
    four.done(1, "failed", exit_code=1)
    assert act(four.client, "rerun", [1], changes={"priority": 7}).done == [1]
    assert wishes(four) == [(1, Wish.RERUN)]
    assert four.client.job(1).priority == 7


def test_too_many_jobs_for_one_request_are_refused(four: QuietQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MOST_JOBS", 3)
    with pytest.raises(UsageError, match=r"4 jobs are too many for one request: at most 3\. Nothing was done\."):
        act(four.client, "hold", [1, 2, 3, 4])


def test_a_project_has_a_limit_until_it_is_taken_away(four: QuietQueue) -> None:
    limit_project(four.client, "vision", 2)
    assert project_limits(four.client) == {"vision": 2}
    limit_project(four.client, "vision", None)
    assert project_limits(four.client) == {}
