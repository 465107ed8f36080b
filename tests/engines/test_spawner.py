"""Folders and logs of attempts: made in advance for those that follow others, given on, and taken back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.core.ports import Ended, NotStarted
from tests.engines.harness import HARNESSES, Harness, Life


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Harness]:
    harness = HARNESSES["local"](tmp_path)
    yield harness
    harness.close()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_folder_and_the_log_of_one_that_is_lined_up_are_there_before_its_turn(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        life.engine.line_up(second)
        assert os.listdir(second.folder) == ["attempt-1.log"]
        life.engine.stop(first, 2)
        assert life.wait_for(Ended, second.attempt).exit_code == 0
        assert Path(second.attempt.log).read_text() == "hello\n"

    local.life(body)


def test_a_log_of_its_own_choice_is_not_made_before_its_turn(local: Harness) -> None:
    """It could not be taken back: it may be a file that others write."""

    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        second.attempt.log = f"{second.folder}.out"
        life.engine.line_up(second)
        assert not os.path.exists(second.attempt.log)
        assert not os.path.exists(second.folder)
        life.engine.stop(first, 2)
        life.wait_for(Ended, second.attempt)
        assert Path(second.attempt.log).read_text() == "hello\n"

    local.life(body)


def test_of_one_whose_turn_never_came_no_folder_stays_when_the_host_ends_in_good_order(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        life.engine.line_up(second)
        life.engine.close({life.engine.keeper})
        assert not os.path.exists(second.folder)

    local.life(body)


def test_of_one_that_stands_down_no_folder_and_no_open_file_stay(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        before = open_files()
        second = life.order("prints", follows=first)
        life.engine.line_up(second)
        assert life.engine.stand_down(second.attempt)
        assert not os.path.exists(second.folder)
        assert open_files() == before

    local.life(body)


def test_what_somebody_put_into_the_folder_of_one_that_stands_down_stays(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        life.engine.line_up(second)
        Path(second.folder, "notes").write_text("mine")
        assert life.engine.stand_down(second.attempt)
        assert Path(second.folder, "notes").read_text() == "mine"

    local.life(body)


def test_no_file_stays_open_of_one_that_could_not_start_when_its_turn_came(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        before = open_files()
        second = life.order("cannot start", follows=first)
        life.engine.line_up(second)
        life.engine.stop(first, 2)
        life.wait_for(NotStarted, second.attempt)
        assert open_files() == before

    local.life(body)


def test_a_folder_that_cannot_be_made_in_advance_is_tried_again_when_its_turn_comes(local: Harness) -> None:
    def body(life: Life) -> None:
        first = life.begin("runs")
        second = life.order("prints", follows=first)
        in_its_way = Path(second.folder)
        in_its_way.write_text("a file")
        life.engine.line_up(second)
        in_its_way.unlink()
        life.engine.stop(first, 2)
        life.wait_for(Ended, second.attempt)
        assert Path(second.attempt.log).read_text() == "hello\n"

    local.life(body)


def test_an_attempt_that_prints_nothing_gives_its_folder_to_a_later_one_and_is_told_to_be_silent(
    local: Harness,
) -> None:
    def body(life: Life) -> None:
        silent = life.order("exits with 0")
        life.engine.start([silent])
        assert life.wait_for(Ended, silent.attempt).silent
        later = life.order("prints")
        life.engine.start([later])
        assert not life.wait_for(Ended, later.attempt).silent
        assert not os.path.exists(silent.folder)
        assert Path(later.attempt.log).read_text() == "hello\n"

    local.life(body)
