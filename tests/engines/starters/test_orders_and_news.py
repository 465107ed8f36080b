"""Starters as their host has them: who gets a line, what is heard of it, and what is left when one dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.core.ports import StartOrder
from duckrow.engines.local.keeper.journal import SILENT, SPOKE
from duckrow.engines.local.starters import starter as starter_module
from duckrow.engines.local.starters import starters as starters_module
from duckrow.engines.local.starters.starter_link import StarterLink
from tests.engines.starters.host import StarterHost


def give(host: StarterHost, line: list[StartOrder]) -> StarterLink:
    starter = host.starters.free_for(line)
    assert starter is not None
    assert host.starters.take(starter, line) == line
    return starter


def dead(host: StarterHost) -> list[StarterLink]:
    found: list[StarterLink] = []

    def look() -> bool:
        found.extend(host.starters.take_dead())
        return bool(found)

    host.wait_until(look, "the end of a starter")
    return found


def ids(orders: list[StartOrder]) -> list[int]:
    return [order.attempt.id for order in orders]


def test_of_each_attempt_of_a_line_we_hear_how_it_ended_in_turn(host: StarterHost) -> None:
    line = host.line("exit 0", "echo hello; exit 3", "kill -SEGV $$")
    give(host, line)
    host.wait_for_ends(line)
    assert host.ends == ids(line)
    records = [host.heard[attempt] for attempt in host.ends]
    assert [os.waitstatus_to_exitcode(record.wait_status or 0) for record in records] == [0, 3, -signal.SIGSEGV]
    assert [record.how for record in records] == [SILENT, SPOKE, SILENT]
    assert all(record.by_starter and record.pid for record in host.journal.read().values())
    assert Path(line[1].attempt.log).read_text() == "hello\n"


def test_what_has_begun_no_longer_waits_and_what_has_ended_is_not_theirs(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    give(host, line)
    host.wait_for_process(line[0])
    assert host.starters.waiting == 2
    assert all(host.starters.has(attempt) for attempt in ids(line))
    assert not host.starters.has(None)
    host.unblock()
    host.wait_for_ends(line)
    assert host.starters.waiting == 0
    assert not any(host.starters.has(attempt) for attempt in ids(line))


def test_an_end_is_theirs_until_it_is_on_disk(host: StarterHost) -> None:
    line = host.line("true", "true", "true")
    give(host, line)
    host.wait_for_ends(line)
    for attempt in ids(line[:2]):
        host.starters.report(attempt)
    host.starters.tell()
    assert host.starters.attempts == set(ids(line))
    host.starters.settle()
    assert host.starters.attempts == {line[2].attempt.id}


def test_a_short_line_is_not_worth_a_process_unless_a_starter_has_nothing_to_do(host: StarterHost) -> None:
    first, second, third, *late = host.line("true", "true", "true", "true", "true")
    assert host.starters.free_for([first, second]) is None
    starter = give(host, [first, second, third])
    host.wait_for_ends([third])
    assert host.starters.free_for(late) is starter


def test_there_are_no_more_starters_than_cores(host: StarterHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    line = host.line(host.blocked(), "true", "true", "true", "true", "true")
    give(host, line[:3])
    assert host.starters.free_for(line[3:]) is None
    assert len(host.starters.pids) == 1


def test_an_attempt_joins_the_line_of_the_one_before_it(host: StarterHost) -> None:
    *line, fourth, stranger = host.line(host.blocked(), "true", "true", "true", "true")
    give(host, line)
    stranger.attempt.follows = 4711
    assert host.starters.add(fourth)
    assert not host.starters.add(stranger)
    host.starters.send()
    host.unblock()
    host.wait_for_ends([*line, fourth])
    assert not host.starters.has(stranger.attempt.id)


def test_one_that_is_not_plain_ends_the_part_of_the_line_that_a_starter_takes(host: StarterHost) -> None:
    line = host.line("true", "true", "true", "true")
    line[2].attempt.job = line[2].attempt.job._replace(max_log_bytes=1000)
    starter = host.starters.free_for(line)
    assert starter is not None
    assert host.starters.take(starter, line) == line[:2]
    assert host.starters.free_for(line[2:]) is None


def test_those_that_have_not_begun_can_be_recalled(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    give(host, line)
    host.wait_for_process(line[0])
    assert host.starters.recall(line[2].attempt.id) == line[1:]
    assert host.starters.recall(line[2].attempt.id) == []
    host.unblock()
    host.wait_for_ends(line[:1])
    assert not any(host.journal.read().keys() & ids(line[1:]))


def test_a_starter_works_on_after_a_recall(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    give(host, line)
    host.wait_for_process(line[0])
    host.starters.recall(line[1].attempt.id)
    late = host.order(9, "exit 9", follows=line[0].attempt.id)
    assert host.starters.add(late)
    host.starters.send()
    host.unblock()
    host.wait_for_ends([line[0], late])
    assert host.heard[late.attempt.id].wait_status == 9 << 8


def test_when_a_starter_is_killed_its_host_knows_what_it_had_to_do(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    starter = give(host, line)
    host.wait_for_process(line[0])
    os.kill(starter.pid, signal.SIGKILL)
    assert dead(host) == [starter]
    running, waiting = host.starters.unfinished([starter])
    assert (running, waiting) == ([line[0]], line[1:])
    assert not host.starters.pids
    assert not host.starters.has(line[1].attempt.id)


def test_one_that_somebody_stopped_is_dead_for_its_host(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    starter = give(host, line)
    host.wait_for_process(line[0])
    os.kill(starter.pid, signal.SIGSTOP)
    assert dead(host) == [starter]


def test_if_starters_keep_dying_the_host_starts_such_jobs_itself(host: StarterHost) -> None:
    for _ in range(starters_module._MOST_FAILURES):
        line = host.line(host.blocked(), "true", "true")
        starter = give(host, line)
        os.kill(starter.pid, signal.SIGKILL)
        host.starters.unfinished(dead(host))
    assert host.starters.free_for(line) is None


def test_one_that_we_end_leaves_its_process_running_and_is_no_failure(host: StarterHost) -> None:
    for _ in range(starters_module._MOST_FAILURES):
        line = host.line(host.blocked(), "true", "true")
        give(host, line)
        pid = host.wait_for_process(line[0])
        assert host.starters.end_that_of(line[0].attempt.id)
        assert host.starters.have_died()
        os.kill(pid, 0)
        host.starters.unfinished(dead(host))
    assert not host.starters.end_that_of(line[0].attempt.id)
    assert host.starters.free_for(line) is not None


def test_one_that_does_nothing_about_its_orders_is_ended(host: StarterHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starters_module, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(StarterLink, "send", lambda _: True)  # it never gets them
    starter = give(host, host.line("true", "true", "true"))
    assert dead(host) == [starter]


def test_one_that_has_a_job_which_takes_long_is_not_ended(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    starter = give(host, line)
    host.wait_for_process(line[0])
    assert not starter.is_stuck(0.0)
    host.unblock()
    host.wait_for_ends(line)
    assert not starter.is_stuck(0.0)


def test_one_that_has_nothing_to_do_ends_after_a_while_which_is_no_failure(
    host: StarterHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starters_module, "_IDLE_S", 0.0)
    for _ in range(starters_module._MOST_FAILURES):
        line = host.line("true", "true", "true")
        starter = give(host, line)
        assert dead(host) == [starter]
        assert host.starters.unfinished([starter]) == ([], [])
    assert host.starters.free_for(line) is not None


def test_a_line_that_leaves_a_process_behind_ends_its_starter(host: StarterHost) -> None:
    line = host.line(f"{{ {host.blocked()}; }} & exit 4", "true", "true")
    starter = give(host, line)
    assert dead(host) == [starter]
    host.hear()
    assert host.heard[line[0].attempt.id].wait_status == 4 << 8
    assert host.starters.unfinished([starter]) == ([], line[1:])


def test_starters_that_are_let_go_end_and_leave_no_spare_folder(host: StarterHost) -> None:
    line = host.line("true", "true", "true")
    give(host, line)
    host.wait_for_ends(line)
    host.starters.let_go()
    host.starters.close()
    assert not host.starters.pids
    assert os.listdir(host.folder / "runs") == []


def test_we_know_that_one_runs_until_we_hear_of_its_end(host: StarterHost) -> None:
    line = host.line(host.blocked(), "true", "true")
    starter = give(host, line)
    host.wait_for_process(line[0])
    told = [starter.has_short_ones, host.starters.know_of_start(line[0].attempt.id), starter.has_short_ones]
    assert told == [True, True, False]
    host.unblock()
    host.wait_for_ends(line)
    assert not host.starters.know_of_start(line[0].attempt.id)


@pytest.mark.parametrize(("cores", "pause_s"), [({0}, starter_module.LOOK_S), ({0, 1}, starters_module._BESIDE_S)])
def test_we_look_less_often_if_that_takes_a_core_from_a_starter(
    host: StarterHost, monkeypatch: pytest.MonkeyPatch, cores: set[int], pause_s: float
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    pauses: list[float] = []
    later = host.reactor.later

    def noted(seconds: float, call: Callable[[], None]) -> None:
        pauses.append(seconds)
        later(seconds, call)

    monkeypatch.setattr(host.reactor, "later", noted)
    line = host.line(host.blocked(), "true", "true")
    give(host, line)
    host.wait_for_process(line[0])
    assert set(pauses) == {pause_s}
    host.unblock()
    host.wait_for_ends(line)
