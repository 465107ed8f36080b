"""What a verb on many jobs costs grows as their number does: counted in what SQLite does, not in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.hold import hold, release
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.order import move_before, move_first, move_last, prioritise
from duckrow.api.jobs.remove import remove
from duckrow.api.jobs.rerun import rerun
from duckrow.api.jobs.wait import WaitedTooLong, wait
from duckrow.api.queue.attendance import Attendance
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import DuckrowError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import Wish
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON

FEW, MANY = 100, 800
_STEPS = 100  # of SQLite's machine, between two calls of the handler

_AWAIT_WISHES = Client.await_wishes

Verb = Callable[[Client, Sequence[int]], object]


class Queue:
    """Jobs that wait, a wish for each of them, and what SQLite does from now on."""

    def __init__(self, folder: Folder, jobs: int) -> None:
        self.client = Client(folder.make())
        with self.client.database.transaction():
            self.ids = list(self.client.jobs.add(DAEMON, [JobSpec("true", "/")] * jobs, {}))
            self.client.hosts.change_seats(DAEMON, cpu_seats(1))
        self.client.jobs.wish(self.ids, Wish.KILL)
        self.hundreds = self.statements = 0
        connection = self.client.database._connection
        connection.set_progress_handler(self._count, _STEPS)
        connection.set_trace_callback(self._note)

    def _count(self) -> int:
        self.hundreds += 1
        return 0

    def _note(self, _statement: str) -> None:
        self.statements += 1


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Queue]]:
    """No daemon: nobody fulfils a wish, and none is waited for."""
    monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Client, "settle", lambda _self: None)
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)
    made: list[Queue] = []

    def make(jobs: int) -> Queue:
        made.append(Queue(Folder(tmp_path / str(jobs)), jobs))
        return made[-1]

    yield make
    for each in made:
        each.client.close()


VERBS: dict[str, Verb] = {
    "hold": hold,
    "release": release,
    "priority": lambda client, ids: prioritise(client, ids, 40),
    "move first": move_first,
    "move last": move_last,
    "move before": lambda client, ids: move_before(client, ids[1:], ids[0]),
    "kill": lambda client, ids: kill(client, ids, answered=False),
    "rerun": rerun,
    "rm": remove,
    "look": lambda client, ids: client.views(ids),
    "wait": lambda client, ids: _wait(client, ids),
}


def _wait(client: Client, ids: Sequence[int]) -> None:
    with pytest.raises(WaitedTooLong):
        wait(client, ids, timeout_s=0.0, tell=lambda _sentence: None)


@pytest.mark.no_cover  # hundreds of jobs
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_on_many_jobs_costs_as_much_for_each_as_one_on_few(verb: str, queue: Callable[[int], Queue]) -> None:
    few, many = queue(FEW), queue(MANY)
    for each in (few, many):
        VERBS[verb](each.client, each.ids)
    times = MANY / FEW
    assert many.hundreds <= 1.5 * times * max(few.hundreds, 1)
    assert many.statements <= 1.5 * times * few.statements


def test_waiting_for_many_jobs_costs_no_more_than_waiting_for_few(
    queue: Callable[[int], Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits comes again with every change that any job makes."""
    monkeypatch.setattr(Attendance, "look", lambda _self, _ids: None)  # once a second
    few, many = queue(FEW), queue(MANY)
    for each in (few, many):
        monkeypatch.setattr(each.client, "changes", lambda _deadline: range(20))
        with pytest.raises(AssertionError, match="changes never end"):
            wait(each.client, each.ids)
    assert many.statements <= few.statements
    assert many.hundreds <= 1.5 * few.hundreds
    assert many.statements < 100


def test_waiting_for_many_wishes_costs_no_more_than_waiting_for_few(
    queue: Callable[[int], Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has killed a million jobs comes again with each few hundred that have ended."""
    monkeypatch.setattr("duckrow.api.client._ANSWER_S", 0.0)
    few, many = queue(FEW), queue(MANY)
    for each in (few, many):
        monkeypatch.setattr(each.client, "changes", lambda _deadline=None: range(20))
        with pytest.raises(DuckrowError, match="has not answered yet"):
            _AWAIT_WISHES(each.client, each.ids)
    assert many.statements <= few.statements
    assert many.hundreds <= few.hundreds + 1


def test_wishes_that_are_fulfilled_one_after_the_other_are_waited_for_however_many_they_are(
    queue: Callable[[int], Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duckrow.api.client._ANSWER_S", 0.0)
    some = queue(5)

    def changes(_deadline: float | None = None) -> Iterator[None]:
        while True:
            yield
            some.client.database.execute("DELETE FROM wishes WHERE id = (SELECT min(id) FROM wishes)")

    monkeypatch.setattr(some.client, "changes", changes)
    _AWAIT_WISHES(some.client, some.ids)
    assert some.client.jobs.wished() == set()


def test_jobs_that_were_moved_together_before_another_stand_there_in_order(queue: Callable[[int], Queue]) -> None:
    """Too many of them for halving the distance each time: that would leave no room."""
    many = queue(200)
    target, *rest = many.ids
    moved = rest[::-1]
    move_before(many.client, moved, target)
    order = many.client.database.all("SELECT id FROM jobs ORDER BY priority DESC, position")
    assert [row[0] for row in order] == [*moved, target]


def test_one_that_was_run_again_while_another_ended_is_waited_for_too(
    queue: Callable[[int], Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = queue(3)
    database = few.client.database
    with database.transaction():
        database.execute("UPDATE jobs SET state = 'done', outcome = 'succeeded' WHERE id > 1")

    def changes(_deadline: float | None) -> Iterator[None]:
        yield  # job 1 is not done yet
        database.execute("UPDATE jobs SET state = 'queued', outcome = NULL WHERE id = 3")
        database.execute("UPDATE jobs SET state = 'done', outcome = 'succeeded' WHERE id = 1")
        yield
        database.execute("UPDATE jobs SET state = 'done', outcome = 'failed' WHERE id = 3")
        yield

    monkeypatch.setattr(few.client, "changes", changes)
    outcomes = [view.outcome for view in wait(few.client, few.ids, tell=lambda _sentence: None)]
    assert outcomes == ["succeeded", "succeeded", "failed"]
