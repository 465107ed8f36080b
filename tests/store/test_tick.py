"""What the scheduler reads and writes: the head of the queue, moves by compare-and-set, and their events."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from duckrow.core.errors import IllegalTransition
from duckrow.core.jobs.attempt import Exit, Stop
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome, State
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.columns import LISTS
from duckrow.store.jobs.control import ControlStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores
from tests.store.shelf import Shelf, at

# -- the head of the queue ------------------------------------------------------------------------------------------


def test_the_queue_is_ordered_by_priority_and_then_by_arrival(shelf: Shelf) -> None:
    shelf.add("a", "b", priority=30)
    shelf.add("c", priority=50)
    shelf.add("d", priority=10)
    shelf.add("e", priority=50)
    assert shelf.head() == [3, 5, 1, 2, 4]


def test_a_job_that_was_moved_stands_at_its_new_position(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.change("UPDATE jobs SET position = 0.5 WHERE id = 3")
    assert shelf.head() == [3, 1, 2]


def test_only_the_head_of_the_queue_is_read(shelf: Shelf) -> None:
    shelf.add(*["true"] * 10)
    assert shelf.head(limit=3) == [1, 2, 3]


def test_a_held_job_is_not_eligible(shelf: Shelf) -> None:
    shelf.add("a", "b")
    shelf.change("UPDATE jobs SET held = 1 WHERE id = 1")
    assert shelf.head() == [2]


def test_a_job_that_has_started_or_is_done_is_not_eligible(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.run(1)
    shelf.finish(shelf.start(2))
    assert shelf.head() == [3]


def test_each_host_has_a_queue_of_its_own(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/work", "")
    shelf.add("a")
    shelf.add("b", host_id=run)
    assert shelf.head() == [1]
    assert [job.id for job in TickStores(shelf.database, run).queue.eligible(10)] == [2]


def test_the_head_of_the_queue_is_found_by_its_index_without_sorting(shelf: Shelf) -> None:
    query = load_queries("queue", LISTS)["eligible"]
    values = {"host_id": 1, "limit": 10, "full": '["project:thesis"]', "without": "[7]"}
    plan = [row["detail"] for row in shelf.database.all(f"EXPLAIN QUERY PLAN {query}", values)]
    assert any("SEARCH j USING INDEX jobs_eligible (host_id=?)" in step for step in plan), plan
    assert not any("B-TREE" in step for step in plan), plan


@pytest.mark.parametrize(("name", "index"), [("foreign_holds", "attempts_live")])
def test_what_every_tick_asks_is_found_by_an_index(shelf: Shelf, name: str, index: str) -> None:
    values = {"host_id": 1}
    steps = shelf.database.all(f"EXPLAIN QUERY PLAN {load_queries('reservations')[name]}", values)
    assert any(index in step["detail"] for step in steps), [step["detail"] for step in steps]


def test_a_host_is_unfinished_until_its_last_job_is_done(shelf: Shelf) -> None:
    assert not shelf.tick.queue.is_unfinished()
    shelf.add("a")
    assert shelf.tick.queue.is_unfinished()
    attempt = shelf.run(1)
    assert shelf.tick.queue.is_unfinished()
    shelf.finish(attempt)
    assert not shelf.tick.queue.is_unfinished()


# -- a job's life ---------------------------------------------------------------------------------------------------


def story_of(shelf: Shelf, job_id: int) -> list[tuple[str, str, str | None]]:
    return [(event.before, event.after, event.outcome) for event in shelf.story.events(job_id)]


def test_every_move_leaves_an_event(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.run(1)
    with shelf.database.transaction():
        shelf.tick.attempts.stopping(attempt, Outcome.KILLED, at(1005.0), "kill asked for")
    shelf.finish(attempt, Outcome.KILLED)
    assert story_of(shelf, 1) == [
        ("queued", "starting", None),
        ("starting", "running", None),
        ("running", "stopping", None),
        ("stopping", "done", "killed"),
    ]
    events = shelf.story.events(1)
    assert [event.at for event in events] == [1000.0, 1001.0, 1005.0, 1010.0]
    assert events[2].detail == "kill asked for"
    assert {event.attempt for event in events} == {1}


def test_a_change_that_is_no_move_leaves_no_event(shelf: Shelf) -> None:
    shelf.add("a")
    shelf.change("UPDATE jobs SET priority = 99, state = 'queued'")
    assert story_of(shelf, 1) == []


def test_an_event_is_written_in_the_transaction_of_its_move(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.attempt_of(1)

    def start_and_fail() -> None:
        with shelf.database.transaction():
            shelf.tick.attempts.start(attempt)
            assert story_of(shelf, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        start_and_fail()
    assert story_of(shelf, 1) == []
    assert shelf.head() == [1]


def test_an_attempt_is_read_back_as_it_was_written(shelf: Shelf) -> None:
    shelf.add("a", gpus=2, timeout_s=60.0)
    started = shelf.start(1, holds=(("0", 500_000), ("1", 500_000)), keeper="k7", started_at=1234.5)
    assert shelf.tick.attempts.live() == [(DAEMON, replace(started, job=started.job._replace(attempts=1)))]
    with shelf.database.transaction():
        started.has_process(77, "77:123:boot.1")
        shelf.tick.attempts.running(started, 1235.0)
        shelf.tick.attempts.stopping(started, Outcome.TIMED_OUT, at(1294.5), "too long")
        started.note_exit(Exit(None, 15))
        shelf.tick.attempts.note_exit(started)
    ((_, read),) = shelf.tick.attempts.live()
    assert (read.state, read.pid, read.stop) == (State.STOPPING, 77, Stop(Outcome.TIMED_OUT, at(1294.5).mono))
    assert (read.exit_code, read.signal) == (None, 15)


def test_a_finished_attempt_tells_how_it_ended_and_holds_nothing(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.run(1)
    shelf.finish(attempt, Outcome.FAILED, at=1060.0)
    (row,) = shelf.story.attempts(1)
    assert (row.ended_at, row.exit_code, row.outcome, row.pid) == (1060.0, 1, "failed", 4242)
    assert shelf.tick.attempts.live() == []
    assert shelf.tick.attempts.keepers_in_use() == set()


def test_an_attempt_is_finished_by_one_only(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.run(1)
    shelf.finish(attempt)
    assert not shelf.tick.attempts.finish(attempt, Outcome.LOST, 2000.0, "")
    (row,) = shelf.story.attempts(1)
    assert row.outcome == "succeeded"


def test_a_keeper_is_in_use_while_an_attempt_of_it_lives(shelf: Shelf) -> None:
    shelf.add("a", "b")
    first = shelf.run(1, keeper="k1")
    shelf.run(2, keeper="k2")
    assert shelf.tick.attempts.keepers_in_use() == {"k1", "k2"}
    shelf.finish(first)
    assert shelf.tick.attempts.keepers_in_use() == {"k2"}


def test_a_retry_goes_back_to_the_queue_after_its_time(shelf: Shelf) -> None:
    shelf.add("a", retries=3)
    shelf.requeue(shelf.run(1), Verdict(Outcome.FAILED, True, 60.0, uses_retry=True, detail="failed, retry 1 of 3"))
    assert shelf.state(1) is State.QUEUED
    assert shelf.head() == []
    shelf.release(at(1070.0))
    (job,) = shelf.tick.queue.eligible(1)
    assert (job.retries_used, job.attempts) == (1, 1)
    assert shelf.story.events(1)[-1].detail == "failed, retry 1 of 3"


def test_a_requeue_that_is_no_retry_uses_none(shelf: Shelf) -> None:
    shelf.add("a", retries=3)
    shelf.requeue(shelf.run(1), Verdict(Outcome.FAILED, True))
    (job,) = shelf.tick.queue.eligible(1)
    assert (job.retries_used, job.attempts) == (0, 1)


def test_an_attempt_that_never_began_does_not_count(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.start(1)
    with shelf.database.transaction():
        shelf.tick.attempts.unstart(attempt, 0.0, at(1001.0), "the scheduler died")
    (job,) = shelf.tick.queue.eligible(1)
    assert job.attempts == 0
    assert shelf.story.attempts(1) == []
    assert story_of(shelf, 1)[-1] == ("starting", "queued", None)
    assert shelf.start(1).number == 1


def test_a_rerun_keeps_the_earlier_attempts_and_begins_its_retries_anew(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/work", "")
    shelf.add("a", retries=2)
    shelf.finish(shelf.run(1), Outcome.FAILED)
    shelf.change("UPDATE jobs SET retries_used = 2")
    with shelf.database.transaction():
        shelf.tick.reruns.rerun(1, 2000.0, run)
    assert shelf.head() == []
    (job,) = TickStores(shelf.database, run).queue.eligible(1)
    assert (job.attempts, job.retries_used) == (1, 0)
    assert len(shelf.story.attempts(1)) == 1
    (row,) = shelf.jobs.pick()
    assert (row.state, row.outcome) == ("queued", None)


def test_jobs_that_still_wait_can_be_left_out_and_those_that_began_cannot(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.run(2)
    with shelf.database.transaction():
        shelf.tick.moves.skip_queued([1, 2], 1005.0, "no longer listed")
    assert [(row.state, row.outcome) for row in shelf.jobs.pick()] == [
        ("done", "skipped"),
        ("running", None),
        ("queued", None),
    ]
    assert [event.detail for event in shelf.story.events(1)] == ["no longer listed"]


# -- compare and set ------------------------------------------------------------------------------------------------


def test_a_job_cannot_be_started_twice(shelf: Shelf, folder: Folder) -> None:
    shelf.add("a")
    other = Shelf(Database(folder))
    ours, theirs = shelf.attempt_of(1), other.attempt_of(1)
    with shelf.database.transaction():
        shelf.tick.attempts.start(ours)
    with pytest.raises(IllegalTransition) as caught, other.database.transaction():
        other.tick.attempts.start(theirs)
    assert (
        str(caught.value)
        == "Job 1 was not queued when it should have become starting. Its history: queued to starting."
    )
    assert len(shelf.story.attempts(1)) == 1
    other.database.close()


def test_the_time_of_an_attempt_counts_from_when_its_process_began(shelf: Shelf) -> None:
    """Whoever takes it over after a restart counts on from there."""
    shelf.add("a")
    attempt = shelf.start(1)
    attempt.started = at(1500.0)  # its preloaded parent was slow
    with shelf.database.transaction():
        shelf.tick.attempts.running(attempt, 1501.0)
    ((_, found),) = shelf.tick.attempts.live()
    assert found.started == attempt.started


Move = Callable[[Shelf], None]


def _run_what_is_done(shelf: Shelf) -> None:
    attempt = shelf.start(1)
    shelf.change("UPDATE jobs SET state = 'done', outcome = 'lost' WHERE id = 1")
    shelf.tick.attempts.running(attempt, 1002.0)


def _finish_what_is_queued(shelf: Shelf) -> None:
    shelf.tick.moves.finish(1, State.RUNNING, Outcome.FAILED, 1002.0, "")


def _requeue_what_is_queued(shelf: Shelf) -> None:
    shelf.tick.reruns.rerun(1, 1002.0, DAEMON)


def _stop_what_was_requeued(shelf: Shelf) -> None:
    attempt = shelf.run(1)
    shelf.change("UPDATE jobs SET state = 'queued' WHERE id = 1")
    shelf.tick.attempts.stopping(attempt, Outcome.KILLED, at(1002.0), "")


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (
            _run_what_is_done,
            "Job 1 was not starting when it should have become running. Its history: queued to starting, ",
        ),
        (_finish_what_is_queued, "Job 1 was not running when it should have become done. Its history: "),
        (_requeue_what_is_queued, "Job 1 was not done when it should have become queued. Its history: "),
        (
            _stop_what_was_requeued,
            "Job 1 was not running when it should have become stopping. Its history: queued to starting",
        ),
    ],
)
def test_a_job_that_is_not_where_we_thought_it_was_stays_there(shelf: Shelf, move: Move, said: str) -> None:
    shelf.add("a")
    with pytest.raises(IllegalTransition) as caught:
        move(shelf)
    assert str(caught.value).startswith(said)


def test_a_move_that_the_table_does_not_have_is_refused_before_it_is_tried(shelf: Shelf) -> None:
    shelf.add("a")
    attempt = shelf.run(1)
    with pytest.raises(IllegalTransition, match="Job 1 cannot move from running to running"):
        shelf.tick.attempts.running(attempt, 1002.0)
    with pytest.raises(IllegalTransition, match="Job 1 cannot move from done to done"):
        shelf.tick.moves.finish(1, State.DONE, Outcome.FAILED, 1002.0, "")


def test_a_job_has_an_outcome_if_and_only_if_it_is_done(shelf: Shelf) -> None:
    shelf.add("a")
    for wrong in ("state = 'done'", "outcome = 'failed'"):
        with pytest.raises(sqlite3.IntegrityError, match="CHECK constraint failed"):
            shelf.database.execute(f"UPDATE jobs SET {wrong}")


# -- other hosts ----------------------------------------------------------------------------------------------------


def test_what_other_hosts_hold_is_seen_and_our_own_is_not(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/work", "")
    shelf.add("a", "b")
    shelf.run(1, holds=(("0", 1_000_000),))
    shelf.run(2, holds=(("1", 500_000), ("2", 500_000)))
    assert shelf.tick.reservations.of_other_hosts() == []
    seen = TickStores(shelf.database, run).reservations.of_other_hosts()
    assert sorted(seen) == [(("0", 1_000_000),), (("1", 500_000), ("2", 500_000))]


def test_an_orphan_is_taken_over_by_one_host_only(shelf: Shelf) -> None:
    quick, slow = (shelf.hosts.add_run("", "/work", "") for _ in range(2))
    shelf.add("a")
    attempt = shelf.run(1)
    assert TickStores(shelf.database, quick).attempts.take_over(attempt, DAEMON)
    assert not TickStores(shelf.database, slow).attempts.take_over(attempt, DAEMON)
    assert [watcher for watcher, _ in shelf.tick.attempts.live()] == [quick]


def test_what_has_ended_is_not_taken_over(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/work", "")
    shelf.add("a")
    attempt = shelf.run(1)
    shelf.finish(attempt)
    assert not TickStores(shelf.database, run).attempts.take_over(attempt, DAEMON)


# -- jobs that wait for others --------------------------------------------------------------------------------------


def after(shelf: Shelf, job_id: int, *on: tuple[int, str]) -> None:
    with shelf.database.transaction():
        ControlStore(shelf.database).add_dependencies([job_id], on)


def ends(shelf: Shelf) -> list[str]:
    return [row.outcome or row.state for row in shelf.jobs.pick()]


def test_a_job_that_waits_for_two_that_can_no_longer_succeed_is_skipped_once(shelf: Shelf) -> None:
    shelf.add("a", "b", "both", "behind")
    after(shelf, 2, (1, "ok"))
    after(shelf, 3, (1, "ok"), (2, "ok"))
    after(shelf, 4, (2, "ok"), (3, "ok"))
    shelf.finish(shelf.run(1), Outcome.FAILED)
    assert ends(shelf) == ["failed", "skipped", "skipped", "skipped"]
    assert story_of(shelf, 3) == [("queued", "done", "skipped")]


def test_a_rerun_queues_a_job_once_that_was_skipped_because_of_two(shelf: Shelf) -> None:
    shelf.add("a", "b", "c", "all")
    after(shelf, 2, (1, "ok"))
    after(shelf, 3, (2, "ok"))
    after(shelf, 4, (1, "ok"), (3, "any"))
    shelf.finish(shelf.run(1), Outcome.FAILED)
    assert ends(shelf) == ["failed", "skipped", "skipped", "skipped"]
    with shelf.database.transaction():
        shelf.tick.reruns.rerun(1, 2000.0, DAEMON)
    assert ends(shelf) == ["queued"] * 4
    shelf.finish(shelf.run(1))
    assert shelf.head() == [2]  # the last waits for the third again, which had met it by being skipped


def test_a_chain_longer_than_python_can_recurse_is_skipped_and_rerun(shelf: Shelf) -> None:
    count = sys.getrecursionlimit() + 100
    shelf.add(*["true"] * count)
    with shelf.database.transaction():
        for job_id in range(2, count + 1):
            ControlStore(shelf.database).add_dependencies([job_id], [(job_id - 1, "ok")])
    shelf.finish(shelf.run(1), Outcome.FAILED)
    assert set(ends(shelf)[1:]) == {"skipped"}
    with shelf.database.transaction():
        shelf.tick.reruns.rerun(1, 2000.0, DAEMON)
    assert set(ends(shelf)) == {"queued"}
    assert shelf.head() == [1]
