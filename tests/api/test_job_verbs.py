"""The verbs on jobs: which jobs they are done to, which are refused and why, and how they are taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from duckrow.api.client import Client
from duckrow.api.jobs.actions import act
from duckrow.api.jobs.changed import Changed
from duckrow.api.jobs.hold import hold, release
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.order import move_before, move_first, move_last, prioritise
from duckrow.api.jobs.pause import pause, resume
from duckrow.api.jobs.pause_queue import pause_queue, resume_queue
from duckrow.api.jobs.remove import remove
from duckrow.api.jobs.rerun import rerun
from duckrow.api.jobs.send_signal import send_signal
from duckrow.api.queue.listing import listing
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.errors import ConflictError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.wishes import Wish, signal_wish
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON

DONE, RUNNING, FIRST, SECOND, NOBODY = 1, 2, 3, 4, 99


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Job 1 has succeeded, 2 runs, 3 and 4 wait. No daemon: nobody fulfils a wish, and none is waited for."""
    monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Client, "settle", lambda _self: None)
    monkeypatch.setattr(Client, "await_wishes", lambda _self, _ids: None)
    client = Client(Folder(tmp_path / "state").make())
    with client.database.transaction():
        client.jobs.add(DAEMON, [JobSpec("true", "/", name=name) for name in "abcd"], {})
        client.hosts.change_seats(DAEMON, cpu_seats(1))
        client.database.execute("UPDATE jobs SET state = 'done', outcome = 'succeeded' WHERE id = 1")
        client.database.execute("UPDATE jobs SET state = 'running', attempts = 1 WHERE id = 2")
        client.database.execute(
            "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at)"
            " VALUES (2, 1, 1, '', '[[\"cpu:0\", 1000000]]', '', 5)"
        )
    yield client
    client.close()


def wishes(client: Client) -> list[tuple[int, str]]:
    return [tuple(row) for row in client.database.all("SELECT job_id, wish FROM wishes ORDER BY id")]


def refused(changed: Changed[Any]) -> dict[int, str]:
    return dict(changed.refused)


def queue(client: Client) -> list[int]:
    return [view.id for view in listing(client, Filter(["queued"]))]


def test_what_is_done_cannot_be_killed(client: Client) -> None:
    changed = kill(client, [DONE, RUNNING, NOBODY])
    assert changed.done == [RUNNING]
    assert refused(changed) == {NOBODY: "there is no job 99", DONE: "job 1 is already done (succeeded)"}
    assert wishes(client) == [(RUNNING, Wish.KILL)]


@pytest.mark.parametrize(("ids", "undo"), [([FIRST, SECOND], [FIRST, SECOND]), ([RUNNING, FIRST], None)])
def test_a_kill_is_taken_back_where_nothing_had_begun(client: Client, ids: list[int], undo: list[int] | None) -> None:
    assert kill(client, ids, at_once=True).undo == (None if undo is None else {"action": "rerun", "ids": undo})
    assert sorted(wishes(client)) == [(job_id, Wish.KILL_NOW) for job_id in sorted(ids)]


def test_one_that_does_not_wait_for_an_answer_need_not(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Sequence[int]] = []
    monkeypatch.setattr(Client, "await_wishes", lambda _self, ids: waited.append(ids))
    kill(client, [FIRST], answered=False)
    assert waited == []
    kill(client, [SECOND])
    assert waited == [[SECOND]]


def test_a_signal_is_for_what_runs(client: Client) -> None:
    changed = send_signal(client, [DONE, RUNNING, FIRST], "USR1")
    assert changed.done == []
    assert refused(changed) == {
        DONE: "job 1 is already done",
        FIRST: "job 3 is queued: it has no process to signal",
        RUNNING: "job 2 has no process that handles USR1",  # nobody has sent it
    }
    assert wishes(client) == [(RUNNING, signal_wish(10))]


def test_only_what_is_done_runs_again(client: Client) -> None:
    changed = rerun(client, [DONE, RUNNING])
    assert (changed.done, refused(changed)) == ([DONE], {RUNNING: "job 2 is running; only finished jobs can run again"})
    assert wishes(client) == [(DONE, Wish.RERUN)]


def test_a_dry_rerun_changes_nothing(client: Client) -> None:
    assert rerun(client, [DONE], {"command": "false"}, dry_run=True).done == [DONE]
    assert wishes(client) == []
    assert client.job(DONE).command == "true"


def test_what_runs_again_may_be_changed_before(client: Client) -> None:
    rerun(client, [DONE], {"command": "false"})
    assert client.job(DONE).command == "false"


def test_only_what_waits_is_held_and_only_what_changed_is_undone(client: Client) -> None:
    hold(client, [FIRST])
    changed = hold(client, [RUNNING, FIRST, SECOND])
    assert changed.done == [SECOND]
    assert refused(changed) == {
        FIRST: "job 3 is already held",
        RUNNING: "job 2 is running: only queued jobs can be changed",
    }
    assert changed.undo == {"action": "release", "ids": [SECOND]}
    assert release(client, [SECOND]).undo == {"action": "hold", "ids": [SECOND]}
    assert [client.job(job_id).held for job_id in (FIRST, SECOND)] == [True, False]
    again = release(client, [SECOND])
    assert (again.done, again.undo) == ([], None)
    assert refused(again) == {SECOND: "job 4 is not held: duckrow why 4 says what it waits for"}
    assert refused(pause(client, [FIRST])) == {FIRST: "job 3 is already held"}


def test_pausing_holds_what_waits_and_suspends_what_runs(client: Client) -> None:
    paused = pause(client, [DONE, RUNNING, FIRST])
    assert (paused.waiting, paused.done) == ([FIRST], [FIRST])  # no host has suspended the other
    assert refused(paused) == {DONE: "job 1 succeeded", RUNNING: "job 2 has changed: it is running"}
    assert wishes(client) == [(RUNNING, Wish.PAUSE)]
    assert paused.undo == {"action": "resume", "ids": [FIRST]}
    assert resume(client, [FIRST, SECOND]).waiting == [FIRST]


def test_a_pause_of_all_may_suspend_what_runs(client: Client) -> None:
    assert pause_queue(client, None) == 0
    assert (pause_queue(client, "thesis", stop_running=True), wishes(client)) == (0, [])  # nothing of it runs
    assert (pause_queue(client, None, stop_running=True), wishes(client)) == (1, [(RUNNING, Wish.SUSPEND)])
    assert client.pauses() == ["", "thesis"]
    assert resume_queue(client, None).projects == ["thesis"]
    with pytest.raises(ConflictError, match="duckrow resume --project thesis"):
        resume_queue(client, None)
    resume_queue(client, "thesis")
    for project, said in ((None, "The queue is not paused."), ("thesis", "'thesis' is not paused.")):
        with pytest.raises(ConflictError, match=f"^{re.escape(said)}$"):
            resume_queue(client, project)


def test_what_runs_is_not_removed(client: Client) -> None:
    changed = remove(client, [DONE, RUNNING, FIRST])
    assert (changed.done, refused(changed)) == ([DONE, FIRST], {RUNNING: "job 2 is running; kill it first"})


def test_several_that_move_keep_their_order(client: Client) -> None:
    client.jobs.add(DAEMON, [JobSpec("true", "/", name="e")], {})
    move_first(client, [SECOND, 5])
    assert queue(client) == [SECOND, 5, FIRST]
    move_last(client, [SECOND, 5])
    assert queue(client) == [FIRST, SECOND, 5]
    move_before(client, [5], FIRST)
    assert queue(client) == [5, FIRST, SECOND]


@pytest.mark.parametrize(
    "change",
    [
        lambda client: prioritise(client, [SECOND], 60),
        lambda client: move_first(client, [SECOND]),
        lambda client: move_before(client, [SECOND], FIRST),
    ],
)
def test_a_change_of_the_order_can_be_taken_back(client: Client, change: Callable[[Client], Changed[Any]]) -> None:
    undo = change(client).undo
    assert queue(client) == [SECOND, FIRST]
    assert undo is not None
    back = [(job_id, priority, position) for job_id, priority, position in undo["places"]]
    assert act(client, undo["action"], undo["ids"], places=back).done == [SECOND]
    assert queue(client) == [FIRST, SECOND]


def test_what_came_of_it_is_told_to_the_page_in_these_words(client: Client) -> None:
    assert act(client, "remove", [FIRST, NOBODY]).as_json() == {
        "done": [FIRST],
        "refused": [{"id": NOBODY, "why": "there is no job 99"}],
        "undo": None,
    }
