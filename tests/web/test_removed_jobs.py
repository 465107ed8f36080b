"""A job that somebody removes while a request is at it is told to be gone, and nothing breaks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs import edit, order, queued_jobs, remove
from duckrow.api.python.handles import client_of
from duckrow.api.queue.eta import ShownJob
from duckrow.core.jobs.job import JobSpec
from duckrow.core.schedule.run_times import RunTimes
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.jobs import JobStore
from duckrow.web.server_options import ServerOptions
from tests.conftest import DEADLINE_S
from tests.web.conftest import API
from tests.web.inside import Inside


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with Inside(ServerOptions(str(tmp_path_factory.mktemp("removed")))) as inside:
        yield inside


@pytest.fixture
def inside(application: Inside, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """With the jobs 1 and 2, which wait, and without a daemon: nothing may start one."""
    home = application.services.serving.home
    monkeypatch.setenv("DUCKROW_HOME", home)
    monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Client, "settle", lambda _self: None)
    with client_of(home) as client, client.database.transaction():
        client.database.execute("DELETE FROM jobs")
        client.database.execute("DELETE FROM sqlite_sequence")
        client.jobs.add(DAEMON, [JobSpec(command="true", cwd=os.getcwd(), name=name) for name in "ab"], {})
    return application


def remove_first(home: str) -> None:
    """As another process would, at this very moment."""
    with sqlite3.connect(f"{home}/duckrow.db", timeout=DEADLINE_S) as other:
        other.execute("DELETE FROM jobs WHERE id = 1")
    other.close()


def removed_after(inside: Inside, monkeypatch: pytest.MonkeyPatch, kind: type | ModuleType, step: str) -> None:
    """Once this step is done, job 1 is gone."""
    done: Callable[..., Any] = getattr(kind, step)

    def and_then_gone(self: Any, *args: Any, **options: Any) -> Any:
        result = done(self, *args, **options)
        remove_first(inside.services.serving.home)
        return result

    monkeypatch.setattr(kind, step, and_then_gone)


@pytest.mark.parametrize("path", ["", "/why", "/environment", "/curve", "/log"])
def test_who_looks_at_it_is_told_that_it_is_gone(inside: Inside, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert inside.ask("GET", f"{API}/jobs/1{path}").status_code == 200
    removed_after(inside, monkeypatch, Client, "select")
    answer = inside.ask("GET", f"{API}/jobs/1{path}")
    assert (answer.status_code, "There is no job 1" in answer.json()["error"]["sentence"]) == (404, True)


@pytest.mark.parametrize(
    ("kind", "step"),
    [(Client, "select"), (edit, "must_wait"), (queued_jobs, "must_be_here"), (ControlStore, "edit")],
)
def test_who_changes_it_is_told_that_it_is_gone(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, kind: type | ModuleType, step: str
) -> None:
    removed_after(inside, monkeypatch, kind, step)
    answer = inside.ask("PATCH", f"{API}/jobs/1", json={"priority": 5})
    assert answer.status_code in (404, 409), answer.text
    assert "ob 1" in answer.json()["error"]["sentence"]


@pytest.mark.parametrize("action", ["hold", "release", "remove", "first", "last", "priority"])
@pytest.mark.parametrize(
    ("kind", "step"),
    [
        (Client, "views"),
        (JobStore, "glance"),
        (queued_jobs, "must_be_here"),
        (remove, "must_be_here"),
        (order, "must_wait"),
        (ControlStore, "positions_of"),
    ],
)
def test_of_many_the_one_that_is_gone_is_refused_and_the_others_are_done(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, action: str, kind: type | ModuleType, step: str
) -> None:
    if action == "release":
        inside.ask("POST", f"{API}/jobs/actions", json={"action": "hold", "ids": [1, 2]})
    removed_after(inside, monkeypatch, kind, step)
    answer = inside.ask("POST", f"{API}/jobs/actions", json={"action": action, "priority": 1, "ids": [1, 2]})
    assert answer.status_code == 200, answer.text
    deed = answer.json()
    assert 2 in deed["done"]
    assert {*deed["done"], *(refused["id"] for refused in deed["refused"])} == {1, 2}


def test_a_wish_for_one_that_is_gone_does_not_stay_for_ever(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for it to be fulfilled would wait in vain."""
    removed_after(inside, monkeypatch, JobStore, "glance")
    assert inside.ask("POST", f"{API}/jobs/actions", json={"action": "kill", "ids": [1]}).status_code == 200
    with client_of(inside.services.serving.home) as client:
        assert client.jobs.wished() == set()


def test_a_move_before_one_that_is_gone_is_refused(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    removed_after(inside, monkeypatch, order, "must_wait")
    answer = inside.ask("POST", f"{API}/jobs/actions", json={"action": "before", "before": 1, "ids": [2]})
    assert (answer.status_code, answer.json()["done"]) == (200, [])
    assert "no job 1 any more" in answer.json()["refused"][0]["why"]


@pytest.mark.parametrize(("kind", "step"), [(Client, "views"), (JobStore, "pick"), (JobStore, "owners")])
def test_a_page_of_the_list_is_shown_all_the_same(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, kind: type | ModuleType, step: str
) -> None:
    times = RunTimes()
    times.note(ShownJob("default", "b", "b", "/"), 5.0)
    monkeypatch.setattr("duckrow.api.queue.eta.run_times_of", lambda _client: times)
    removed_after(inside, monkeypatch, kind, step)
    answer = inside.ask("GET", f"{API}/jobs")
    assert answer.status_code == 200, answer.text
    assert 2 in [job["id"] for job in answer.json()["items"]]
