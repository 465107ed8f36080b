"""Jobs as front ends add, find and wish them."""

from __future__ import annotations

import os

import pytest

from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.jobs.job import DEFAULT_PRIORITY, JobSpec
from duckrow.core.jobs.selection import parse_selection
from duckrow.core.life.states import Outcome
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.jobs import BY_ID
from duckrow.store.sqlite.database import from_sql, to_sql
from tests.store.shelf import Shelf


def test_jobs_get_ids_in_order_from_one_on(shelf: Shelf) -> None:
    assert shelf.add("a", "b", "c") == [1, 2, 3]
    assert shelf.add("d") == [4]


def test_an_id_is_never_given_twice(shelf: Shelf) -> None:
    shelf.add("a", "b")
    shelf.change("DELETE FROM jobs WHERE id = 2")
    assert shelf.add("c") == [3]


def test_no_jobs_are_no_ids(shelf: Shelf) -> None:
    with shelf.database.transaction():
        assert list(shelf.jobs.add(DAEMON, [], {})) == []


def test_a_job_keeps_all_that_was_asked_for(shelf: Shelf) -> None:
    asked = JobSpec(
        command="python train.py",
        cwd="/home/me/there",
        name="mine",
        project="thesis",
        gpus=2,
        shell="/bin/bash",
        retries=3,
        requeue_lost=True,
        backoff_s=1.5,
        timeout_s=60.0,
        notice_signal=10,
        notice_s=5.0,
        grace_s=2.0,
        outfile="/home/me/out.txt",
        max_log_bytes=1 << 20,
        priority=50,
        array_index=7,
        folder="/home/me/runs/mine",
        preload="numpy,torch",
        needs=Needs(gpu_mem_mb=10_240, cpus=4, mem_mb=2048),
        variables={"B": "2"},
    )
    with shelf.database.transaction():
        shelf.jobs.add(DAEMON, [asked], {"A": "1"})
        environment_id = shelf.jobs.keep_environment({"A": "1", "B": "2"})
    (kept,) = shelf.tick.queue.eligible(1)
    for field in kept._fields:
        if field not in (
            "id",
            "environment_id",
            "retries_used",
            "attempts",
            "array_id",
            "needs",
            "created_at",
            "losses",
        ):
            assert getattr(kept, field) == getattr(asked, field), field
    assert needs_from(kept.needs) == asked.needs
    assert (kept.id, kept.environment_id, kept.retries_used, kept.attempts, kept.array_id) == (
        1,
        environment_id,
        0,
        0,
        1,
    )
    (row,) = shelf.jobs.pick()
    assert (row.priority, row.host_name, row.state, row.outcome) == (50, "daemon", "queued", None)


def test_a_job_that_asks_for_nothing_gets_the_defaults(shelf: Shelf) -> None:
    shelf.add("make")
    (row,) = shelf.jobs.pick()
    assert (row.name, row.project, row.gpus, row.priority) == ("make", "default", None, DEFAULT_PRIORITY)
    assert (row.attempts, row.log, row.started_at, row.pid) == (0, None, None, None)


def test_commands_and_folders_that_are_not_utf8_survive(shelf: Shelf) -> None:
    command, cwd, out = (os.fsdecode(raw) for raw in (b"echo \xff\xfe \xc3\xa9", b"/data/\xe9t\xe9", b"/out/\x80"))
    shelf.add(command, cwd=cwd, outfile=out)
    (job,) = shelf.tick.queue.eligible(1)
    assert (os.fsencode(job.command), os.fsencode(job.cwd)) == (b"echo \xff\xfe \xc3\xa9", b"/data/\xe9t\xe9")
    assert job.outfile == out
    shelf.start(1, log=os.fsdecode(b"/logs/\xff"))
    ((_, attempt),) = shelf.tick.attempts.live()
    assert (attempt.job.command, os.fsencode(attempt.log)) == (command, b"/logs/\xff")


@pytest.mark.parametrize("text", ["echo a", "écho ü 🦆", "", os.fsdecode(b"\xff"), "a\nb\t'\"\\"])
def test_any_text_comes_back_from_the_database_as_it_went_in(shelf: Shelf, text: str) -> None:
    assert from_sql(shelf.database.one("SELECT ?", (to_sql(text),))) == text


def test_text_that_is_utf8_stays_text_in_the_database() -> None:
    assert to_sql("écho 🦆") == "écho 🦆"
    assert to_sql(os.fsdecode(b"\xff")) == b"\xff"


def test_the_same_variables_are_stored_once(shelf: Shelf) -> None:
    with shelf.database.transaction():
        first = shelf.jobs.keep_environment({"A": "1", "B": "2"})
        same = shelf.jobs.keep_environment({"B": "2", "A": "1"})
        other = shelf.jobs.keep_environment({"A": "1", "B": "3"})
    assert first == same != other
    assert shelf.database.one("SELECT count(*) FROM environments") == 2
    assert shelf.jobs.environment(other) == {"A": "1", "B": "3"}


def test_variables_that_are_not_utf8_survive(shelf: Shelf) -> None:
    variables = {"PATH": os.fsdecode(b"/caf\xe9"), "EMPTY": ""}
    with shelf.database.transaction():
        environment_id = shelf.jobs.keep_environment(variables)
    assert shelf.jobs.environment(environment_id) == variables


# -- finding --------------------------------------------------------------------------------------------------------


def test_jobs_are_picked_in_the_order_that_is_asked_for(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.finish(shelf.run(1))
    assert [row.id for row in shelf.jobs.pick(order=BY_ID)] == [1, 2, 3]
    assert [row.id for row in shelf.jobs.pick(order="j.id DESC")] == [3, 2, 1]


def test_jobs_are_picked_by_what_they_are_and_in_portions(shelf: Shelf) -> None:
    shelf.add("a", "b", project="x")
    shelf.add("c", project="y")
    assert [row.id for row in shelf.jobs.pick("j.project = :project", {"project": "x"})] == [1, 2]
    assert [row.id for row in shelf.jobs.pick(limit=1, offset=1)] == [2]
    assert shelf.jobs.pick(limit=0) == []


def test_a_picked_job_has_its_latest_attempt(shelf: Shelf) -> None:
    shelf.add("a", retries=1)
    first = shelf.run(1)
    shelf.finish(first, Outcome.FAILED)
    with shelf.database.transaction():
        shelf.tick.reruns.rerun(1, 1020.0, DAEMON)
    shelf.run(1, holds=(("3", 500_000),), log="/logs/2", started_at=1030.0)
    (row,) = shelf.jobs.pick()
    assert (row.attempts, row.log, row.started_at, row.pid) == (2, "/logs/2", 1030.0, 4242)
    assert (row.exit_code, row.ended_at) == (None, None)
    assert [(one.number, one.outcome) for one in shelf.story.attempts(1)] == [(1, "failed"), (2, None)]


def test_jobs_are_selected_by_id_range_name_and_last(shelf: Shelf) -> None:
    shelf.add("a", "b", "a", "c", "d")

    def selected(*words: str) -> tuple[list[int], list[str]]:
        return shelf.jobs.selected(parse_selection(words))

    assert selected("2") == ([2], [])
    assert selected("2-4") == ([2, 3, 4], [])
    assert selected("4-99") == ([4, 5], [])
    assert selected("a") == ([1, 3], [])
    assert selected("last") == ([5], [])
    assert selected("d,2", "last", "1-2") == ([1, 2, 5], [])
    assert selected("9", "20-30", "zzz", "1") == ([1], ["9", "20-30", "zzz"])


def test_the_last_job_stands_for_its_whole_array_to_those_who_ask_for_that(shelf: Shelf) -> None:
    last = parse_selection(["last"])
    shelf.add("a", "b")
    assert shelf.jobs.selected(last, whole_array=True) == ([2], [])
    with shelf.database.transaction():
        shelf.jobs.add(DAEMON, [JobSpec("true", "/", array_index=index) for index in (7, 8, 9)], {})
    assert shelf.jobs.selected(last, whole_array=True) == ([3, 4, 5], [])
    assert shelf.jobs.selected(last) == ([5], [])
    shelf.add("c")
    assert shelf.jobs.selected(last, whole_array=True) == ([6], [])


def test_there_is_no_last_job_where_there_is_none(shelf: Shelf) -> None:
    for whole_array in (False, True):
        assert shelf.jobs.selected(parse_selection(["last"]), whole_array) == ([], ["last"])


def test_the_owners_of_jobs_are_their_hosts(shelf: Shelf) -> None:
    run = shelf.hosts.add_run("", "/home/me", "")
    shelf.add("a")
    shelf.add("b", host_id=run)
    assert shelf.jobs.owners([1, 2]) == {1: DAEMON, 2: run}


def test_live_jobs_are_those_that_hold_devices(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.start(1)
    shelf.finish(shelf.run(2))
    assert [(row.job_id, row.state) for row in shelf.jobs.live()] == [(1, "starting")]


# -- wishing --------------------------------------------------------------------------------------------------------


def test_a_wish_stays_until_it_is_fulfilled(shelf: Shelf) -> None:
    shelf.add("a", "b", "c")
    shelf.jobs.wish([1, 3], "kill")
    assert shelf.jobs.wished() == {1, 3}
    of_youngest, _ = shelf.tick.wishes.unfulfilled(0, 100)
    with shelf.database.transaction():
        shelf.tick.wishes.forget([of_youngest.id])
    assert shelf.jobs.wished() == {1}


def test_wishes_are_seen_in_their_order_with_what_they_are_for(shelf: Shelf) -> None:
    shelf.add("a", "b")
    shelf.run(2)
    shelf.jobs.wish([2], "kill")
    shelf.jobs.wish([1], "rerun")
    seen = [(job_id, wish, host_id) for _, job_id, wish, host_id in shelf.tick.wishes.unfulfilled(0, 100)]
    assert seen == [(2, "kill", DAEMON), (1, "rerun", DAEMON)]


def test_a_wish_changes_no_state(shelf: Shelf) -> None:
    shelf.add("a")
    shelf.jobs.wish([1], "kill")
    assert shelf.head() == [1]


def test_a_pause_holds_back_a_project_or_everything(shelf: Shelf) -> None:
    shelf.add("a", project="x")
    shelf.add("b", project="y")
    shelf.jobs.pause("x")
    assert shelf.head() == [2]
    shelf.jobs.pause("")
    assert shelf.head() == []
    assert shelf.jobs.pauses() == ["", "x"]


def test_a_pause_twice_is_one_pause(shelf: Shelf) -> None:
    shelf.jobs.pause("x")
    shelf.jobs.pause("x")
    assert shelf.jobs.pauses() == ["x"]


def test_each_pause_is_undone_by_itself(shelf: Shelf) -> None:
    for project in ("x", "y", ""):
        shelf.jobs.pause(project)
    shelf.jobs.unpause("x")
    assert shelf.jobs.pauses() == ["", "y"]
    shelf.jobs.unpause("")
    assert shelf.jobs.pauses() == ["y"]
