"""Wishes of several jobs at a time: to fulfil one may move the job of the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, cast

import pytest

from duckrow.core.jobs.attempt import LiveAttempt, Stop
from duckrow.core.life.states import Outcome, State
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.life import wishes as wishes_module
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.life.suspending import Suspending
from duckrow.scheduler.life.wishes import Wishes, WrongWish
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.state.wish_cursor import WishCursor
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.control import ControlStore
from duckrow.store.sqlite.checkpoint import Checkpointer
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf, at


class DaemonWithoutProcesses:
    """What of a host is touched when no job of the wishes runs."""

    id = DAEMON

    def is_alive(self, host_id: int) -> bool:
        return host_id == DAEMON


class Log:
    """Of the database: whether it is large and being moved."""

    def __init__(self) -> None:
        self.is_moving_much = False


def wishes_of(
    shelf: Shelf, live: Iterable[LiveAttempt] = (), state: HostState | None = None, log: Log | None = None
) -> Wishes:
    host, nobody = cast(Host, DaemonWithoutProcesses()), cast(Any, None)
    if state is None:
        state = HostState(DAEMON, [])
        state.watch(live)
        state.wishes.look()
    suspending = Suspending(shelf.tick.suspensions, nobody)
    stopping = Stopping(shelf.tick.attempts, suspending)
    checkpointer = cast(Checkpointer, log or Log())
    return Wishes(state, shelf.database, shelf.tick, host, nobody, suspending, stopping, checkpointer)


@pytest.fixture
def shelf(tmp_path: str) -> Iterator[Shelf]:
    database = Database(Folder(f"{tmp_path}/home").make())
    shelf = Shelf(database)
    shelf.add("first", "second", "third")
    with database.transaction():
        for job_id in (2, 3):
            ControlStore(database).add_dependencies([job_id], [(before, "ok") for before in range(1, job_id)])
    yield shelf
    database.close()


def fulfil(shelf: Shelf) -> list[str]:
    with shelf.database.transaction():
        wishes_of(shelf).fulfil(at(2000.0))
    assert shelf.jobs.wished() == set()
    return [row.outcome or row.state for row in shelf.jobs.pick()]


def test_jobs_that_wait_for_each_other_are_killed_at_a_time(shelf: Shelf) -> None:
    shelf.jobs.wish([1, 2, 3], "kill")
    assert fulfil(shelf) == ["killed", "killed", "killed"]


def test_a_waiting_job_that_is_killed_twice_is_killed(shelf: Shelf) -> None:
    shelf.jobs.wish([3, 3], "kill")
    assert fulfil(shelf) == ["queued", "queued", "killed"]


def test_jobs_that_wait_for_each_other_are_rerun_at_a_time(shelf: Shelf) -> None:
    shelf.finish(shelf.run(1), Outcome.FAILED)
    shelf.jobs.wish([1, 2, 3], "rerun")
    assert fulfil(shelf) == ["queued", "queued", "queued"]


def test_a_wish_that_makes_no_sense_is_named_so_that_it_can_be_set_aside(shelf: Shelf) -> None:
    wishes = wishes_of(shelf, live=[shelf.run(1)])
    with shelf.database.transaction():
        shelf.database.execute("INSERT INTO wishes (job_id, wish, at) VALUES (1, 'signal:x', 0)")
    told = "The wish 'signal:x' for job 1 is set aside"
    with pytest.raises(WrongWish, match=told) as caught, shelf.database.transaction():
        wishes.fulfil(at(2000.0))
    wishes.forget(caught.value.wish_id)
    assert shelf.jobs.wished() == set()


def test_a_running_job_is_killed_by_a_wish(shelf: Shelf) -> None:
    runs = shelf.run(1)
    shelf.jobs.wish([1], "kill-now")
    with shelf.database.transaction():
        wishes_of(shelf, live=[runs]).fulfil(at(2000.0))
    assert runs.stop == Stop(Outcome.KILLED, at(2000.0).mono - runs.job.grace_s, 1)
    assert runs.state is State.STOPPING


def test_many_wishes_are_fulfilled_in_slices_and_nothing_starts_meanwhile(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wishes_module, "AT_A_TIME", 2)
    shelf.jobs.wish([1, 2, 3], "kill")
    state = HostState(DAEMON, [])
    state.wishes.look()
    wishes, outcomes = wishes_of(shelf, state=state), []
    while not state.may_start:
        assert state.is_due, "the rest must not wait until something happens"
        with shelf.database.transaction():
            wishes.fulfil(at(2000.0))
        outcomes.append([row.outcome for row in shelf.jobs.pick()])
    assert outcomes == [[None, "killed", "killed"], ["killed", "killed", "killed"]]


def test_a_host_that_ends_amid_many_wishes_leaves_the_rest_to_the_next(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wishes_module, "AT_A_TIME", 1)
    shelf.jobs.wish([1, 2, 3], "kill")
    left = []
    for _ in range(3):  # each a host of its own, which ends after one tick
        with shelf.database.transaction():
            wishes_of(shelf).fulfil(at(2000.0))
        left.append(len(shelf.jobs.wished()))
    assert left == [2, 1, 0]
    assert [row.outcome for row in shelf.jobs.pick()] == ["killed", "killed", "killed"]


def test_of_many_that_are_killed_those_that_run_come_first(shelf: Shelf) -> None:
    shelf.run(1)
    shelf.jobs.wish([1, 2, 3], "kill")
    assert [wish.job_id for wish in shelf.tick.wishes.unfulfilled(0, 10)] == [1, 3, 2]


def test_all_wishes_are_looked_at_again_if_somebody_has_written_meanwhile() -> None:
    cursor = WishCursor()
    cursor.look()
    cursor.look()  # nothing was looked at yet
    cursor.seen(500)
    cursor.look()
    seen = [cursor.after]  # new ones come after it
    for _ in range(2):
        cursor.seen(None)
        seen.append(cursor.after)  # a host that was to fulfil some may have died meanwhile
    assert seen == [500, 0, None]


def test_wishes_are_looked_at_from_the_first_if_nothing_was_written() -> None:
    cursor = WishCursor()
    cursor.look()
    cursor.seen(500)
    cursor.look_at_all_again()
    assert (cursor.after, cursor.are_left) == (0, True)
    cursor.seen(None)
    assert not cursor.are_left


# -- many of them ---------------------------------------------------------------------------------------------------


@pytest.fixture
def crowd(tmp_path: str) -> Iterator[Shelf]:
    """Jobs that do not wait for each other."""
    database = Database(Folder(f"{tmp_path}/home").make())
    shelf = Shelf(database)
    shelf.add(*["true"] * 200)
    shelf.tick.dependencies.look()
    yield shelf
    database.close()


def test_queued_jobs_are_killed_together_and_the_others_as_they_are(crowd: Shelf) -> None:
    """Job 1 runs here, job 2 on another host, job 3 is done, and job 4 is wanted by nobody."""
    other = crowd.hosts.add_run("other", "/", "")
    here, away = crowd.run(1), crowd.run(2)
    crowd.finish(crowd.run(3))
    crowd.change("UPDATE attempts SET host_id = ? WHERE job_id = ?", other, away.job.id)
    crowd.jobs.wish([*range(1, 4), *range(5, 101)], "kill")
    statements: list[str] = []
    with crowd.database.transaction():
        crowd.database._connection.set_trace_callback(statements.append)
        wishes_of(crowd, live=[here]).fulfil(at(2000.0))
        crowd.database._connection.set_trace_callback(None)
    assert len(set(statements)) < 20, "not one for each of them"
    assert crowd.jobs.wished() == {2}  # for the host that watches it
    states = [row.outcome or row.state for row in crowd.jobs.pick()]
    assert states == ["stopping", "running", "succeeded", "queued", *["killed"] * 96, *["queued"] * 100]
    assert crowd.database.one("SELECT detail FROM events WHERE job_id = 5") == "killed before it started"


def test_wishes_wait_while_the_log_of_the_database_grows_and_the_loop_looks_again_soon(crowd: Shelf) -> None:
    crowd.jobs.wish(range(1, 51), "kill")
    state, log = HostState(DAEMON, []), Log()
    state.wishes.look()
    state.woken = False
    wishes = wishes_of(crowd, state=state, log=log)
    log.is_moving_much = True
    with crowd.database.transaction():
        wishes.fulfil(at(2000.0))
    assert (len(crowd.jobs.wished()), state.wishes.is_resting, state.may_start) == (50, True, False)
    log.is_moving_much = False
    with crowd.database.transaction():
        wishes.fulfil(at(2000.1))
    assert (len(crowd.jobs.wished()), state.wishes.is_resting, state.may_start) == (0, False, True)


def test_a_tick_that_took_long_is_followed_by_shorter_ones_and_these_by_longer_ones(
    crowd: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wishes_module, "AT_A_TIME", 64)
    crowd.jobs.wish(range(1, 201), "rerun")  # they are queued: nothing is to be done
    lasts = iter([0.0, 0.02, 1.0, 1.02, 2.0, 2.001, 3.0, 3.001])
    monkeypatch.setattr("duckrow.scheduler.life.wishes.time.monotonic", lambda: next(lasts))
    state, left = HostState(DAEMON, []), [200]
    state.wishes.look()
    wishes = wishes_of(crowd, state=state)
    state.wishes.at_a_time = 64
    for _ in range(4):
        with crowd.database.transaction():
            wishes.fulfil(at(2000.0))
        left.append(len(crowd.jobs.wished()))
    assert [before - after for before, after in pairwise(left)] == [64, 32, 25, 50]
