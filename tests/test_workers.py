"""The tests run in several processes, and nothing is lost on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S
from tests.workers import Shares

ROOT = Path(__file__).parent.parent

TESTS = """
import os
import pytest

@pytest.fixture(scope="session")
def mine():
    yield os.getpid()
    open("ended", "a").write(f"{os.getpid()}\\n")

@pytest.mark.parametrize("number", range(20))
def test_it(number, mine, tmp_path):
    print("said by", number)
    open("ran", "a").write(f"{number} {mine}\\n")
    if number == 3:
        raise ValueError("three")
    if number == 7:
        pytest.skip("seven")
    if number == 12:
        os._exit(4)
"""


CONFTEST = """
from tests.workers import pytest_addoption, pytest_runtestloop

def pytest_sessionfinish():
    open("finished", "a").write("x")
"""


def run(folder: Path, *words: str, tests: str = TESTS) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_these.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "-o", "addopts=", *words],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    return done.returncode, done.stdout


def test_each_test_runs_once_and_one_that_ends_its_worker_fails_alone(tmp_path: Path) -> None:
    code, told = run(tmp_path, "--workers", "3")
    assert code == 1
    assert "2 failed, 17 passed, 1 skipped" in told
    ran = dict(map(str.split, (tmp_path / "ran").read_text().splitlines()))
    assert sorted(map(int, ran)) == list(range(20))
    assert "ValueError: three" in told
    assert "said by 3\n" in told
    assert "said by 4\n" not in told
    assert "The worker ended in this test: 4." in told
    assert (tmp_path / "finished").read_text() == "x"
    assert set((tmp_path / "ended").read_text().split()) == {*ran.values()} - {ran["12"]}


def test_the_first_failure_is_the_last_test_if_so_wanted(tmp_path: Path) -> None:
    code, told = run(tmp_path, "--workers", "2", "-x", "-k", "test_it[3] or test_it[4]")
    assert code == 1
    assert "stopping after 1 failures" in told


ENDS_THE_FIRST = """
import os, pytest, signal

FIRST = os.getpid()  # which loads this module

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    open("ran", "a").write("x")
    if number == 0:
        os.kill(FIRST, signal.SIGKILL)
"""


def test_a_worker_does_not_take_the_place_of_the_first_process(tmp_path: Path) -> None:
    code, _ = run(tmp_path, "--workers", "2", tests=ENDS_THE_FIRST)
    assert code == -signal.SIGKILL
    assert (tmp_path / "ran").exists()
    assert not (tmp_path / "finished").exists()


def all_of(shares: Shares, turns: list[int]) -> list[int | None]:
    return [shares.next_for(worker) for worker in turns]


def test_a_worker_begins_with_tests_that_stand_together() -> None:
    assert all_of(Shares(6, 2), [0, 1, 0, 1, 0, 1, 0, 1]) == [0, 3, 1, 4, 2, 5, None, None]


def test_one_that_has_no_more_takes_half_of_what_the_busiest_has_left() -> None:
    shares = Shares(12, 2)
    assert all_of(shares, [0] * 6) == [0, 1, 2, 3, 4, 5]
    assert all_of(shares, [0, 1, 0, 1]) == [9, 6, 10, 7]


@pytest.mark.parametrize(("tests", "workers"), [(1, 4), (7, 3), (100, 6)])
def test_every_test_is_given_once_whoever_asks(tests: int, workers: int) -> None:
    shares = Shares(tests, workers)
    given: list[int] = []
    while (test := shares.next_for(len(given) ** 2 % workers)) is not None:
        given.append(test)
    assert sorted(given) == list(range(tests))
