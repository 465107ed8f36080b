"""simple_hypersearch by another name: the very orders of the original, and sentences where it had tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from duckrow.dropin.simple_hypersearch import main
from tests.conftest import Duckrow
from tests.core.sweeps.test_sweep import ORDER_OF_HUNDRED, ORDERS_OF_FIVE, ORDERS_OF_TWELVE
from tests.dropin.shell import DOORS, PYTHON_DOOR, shell

FIVE = ["-p", "x", "1", "2", "3", "4", "5"]
TWELVE = ["-p", "a", "1", "2", "3", "4", "-p", "b", "u", "v", "w"]
GRID = ["--sampling-mode", "grid"]


class Search:
    """The command, called without a process of its own."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *words: str) -> str:
        """What it prints, the lines joined by blanks."""
        assert main(words) == 0
        printed = self._capture.readouterr()
        assert printed.err == ""
        return " ".join(printed.out.splitlines())

    def complaint(self, *words: str) -> str:
        assert main(words) == 2
        printed = self._capture.readouterr()
        assert printed.out == ""
        return printed.err


@pytest.fixture
def search(capfd: pytest.CaptureFixture[str]) -> Search:
    return Search(capfd)


# -- the original's orders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(21))
def test_the_order_for_a_seed_is_that_of_the_original(search: Search, seed: int) -> None:
    assert search("{x}", *FIVE, "--seed", str(seed)) == ORDERS_OF_FIVE[seed]


def test_seed_one_over_one_to_five_gives_what_the_document_of_the_house_says(search: Search) -> None:
    assert search("{x}", *FIVE, "--seed", "1") == "3 4 5 1 2"


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_two_parameters_is_that_of_the_original(search: Search, seed: int) -> None:
    assert search("{a}{b}", *TWELVE, "--seed", str(seed)) == ORDERS_OF_TWELVE[seed]


def test_the_order_of_a_hundred_points_is_that_of_the_original(search: Search) -> None:
    words = ["-p", "a", *map(str, range(25)), "-p", "b", *map(str, range(4)), "--seed", "0"]
    assert search("{a}.{b}", *words) == ORDER_OF_HUNDRED


@pytest.mark.parametrize(("seed", "order"), [("-1", "3 4 5 1 2"), ("99999999999999999999", "5 3 1 2 4")])
def test_the_order_for_an_odd_seed_is_that_of_the_original(search: Search, seed: str, order: str) -> None:
    assert search("{x}", *FIVE, "--seed", seed) == order


def test_without_a_seed_each_order_is_new(search: Search) -> None:
    values = list(map(str, range(20)))
    orders = {search("{x}", "-p", "x", *values) for _ in range(5)}
    assert len(orders) > 1
    assert all(sorted(order.split(), key=int) == values for order in orders)


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ([*GRID], "1u 1v 1w 2u 2v 2w 3u 3v 3w 4u 4v 4w"),
        ([*GRID, "--seed", "3", "--n-samples", "5"], "1u 1v 1w 2u 2v"),
        (["--seed", "3", "--n-samples", "5"], "1v 3v 4v 1u 3u"),
        (["--seed", "0", "--n-samples", "1"], "1v"),
        (["--seed", "0", "--n-samples", "0"], ""),
        (["--seed", "3", "--n-samples", "99"], ORDERS_OF_TWELVE[3]),
    ],
)
def test_samples_are_drawn_from_the_front_of_the_order(search: Search, words: list[str], order: str) -> None:
    assert search("{a}{b}", *TWELVE, *words) == order


# -- values and patterns --------------------------------------------------------------------------------------------


def test_of_a_parameter_that_is_repeated_the_last_one_wins(search: Search) -> None:
    assert search("{x}{y}", "-p", "x", "1", "2", "-p", "y", "a", "-p", "x", "8", "9", *GRID) == "8a 9a"


def test_values_that_are_repeated_stay(search: Search) -> None:
    assert search("{x}", "-p", "x", "1", "1", "2", *GRID) == "1 1 2"


def test_a_parameter_without_values_gives_no_command(search: Search) -> None:
    assert search("{x}", "-p", "x") == ""


def test_the_long_names_of_the_options_work(search: Search) -> None:
    assert search("{x}", "--parameter", "x", "2", "--sampling-mode=shuffled_grid", "--seed=0", "--n-samples=1") == "2"


@pytest.mark.parametrize(
    ("pattern", "value", "command"),
    [
        ("run {x}", "0.10", "run 0.10"),
        ("run {x}", "1e-3", "run 1e-3"),
        ("run {x}", "a b; $(ls) 'q'", "run a b; $(ls) 'q'"),
        ("run {x}", "", "run "),
        ("run {x}  ", "1", "run 1  "),
        ("run {x!r}", "10", "run '10'"),
        ("run {x:>5}", "10", "run    10"),
        ("run {x[0]}", "10", "run 1"),
        ("run {x:.3}", "abcdef", "run abc"),
        ("run {{x}} {x}", "1", "run {x} 1"),
        ("run", "1", "run"),
    ],
)
def test_values_are_texts_put_into_pythons_format_unquoted(
    search: Search, pattern: str, value: str, command: str
) -> None:
    assert search(pattern, "-p", "x", value) == command


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("ls ${HOME} {x}", "ls ${HOME} 7"),
        ("ls ${HOME:-/tmp} {x}", "ls ${HOME:-/tmp} 7"),
        ("""run '{"lr": {x}, "name": "a"}'""", """run '{"lr": 7, "name": "a"}'"""),
        ("""run '{"a":{"lr":{x}}}'""", """run '{"a":{"lr":7}}'"""),
        ("awk '{print $1}' {x}", "awk '{print $1}' 7"),
        ("find {x} -exec rm {} \\;", "find 7 -exec rm {} \\;"),
        ("touch {1..3}{x}", "touch {1..3}7"),
        ("run { {x}", "run { 7"),
        ("run } {x}", "run } 7"),
        ("run {x:03d}", "run 007"),
        ("run {x:.1f}", "run 7.0"),
        ("run {x!z} {x}", "run {x!z} 7"),
        ("run {} {0} {x}", "run {} {0} 7"),
    ],
)
def test_other_braces_are_left_alone(search: Search, pattern: str, command: str) -> None:
    assert search(pattern, "-p", "x", "7") == command


def test_without_parameters_the_pattern_is_the_only_command(search: Search) -> None:
    assert search("python train.py ${HOME}") == "python train.py ${HOME}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run {lr}"], "The command has {lr}, but no parameter is called lr."),
        (["run {lr} {bs}", "-p", "lr", "1"], "no parameter is called bs"),
        (["run {lrr}", "-p", "lr", "1"], "Did you mean {lr}?"),
        (["run {x:d}", "-p", "x", "abc"], "The value 'abc' of x cannot be written as {x:d}."),
        (["run {x:>99999999999999}", "-p", "x", "1"], "would not fit into memory"),
    ],
)
def test_a_pattern_that_cannot_be_filled_is_a_sentence(search: Search, words: list[str], said: str) -> None:
    complaint = search.complaint(*words)
    assert complaint.startswith("simple_hypersearch: ")
    assert said in complaint


# -- as a command ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_both_doors_print_the_commands_and_tell_by_their_exit_code(duckrow: Duckrow, door: str) -> None:
    door += "simple_hypersearch"
    assert shell(duckrow, f"{door} 'run {{x}}' -p x 1 2 3 --seed 0 | head -1").stdout == "run 1\n"
    assert "-p NAME [VALUES ...]" in shell(duckrow, f"{door} -h").stdout
    wrong = shell(duckrow, f"{door} 'run {{y}}' -p x 1", ok=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    nothing = shell(duckrow, door, ok=False)
    assert (nothing.returncode, nothing.stdout) == (2, "")


def test_a_reader_that_has_had_enough_sees_no_traceback(duckrow: Duckrow) -> None:
    many = " ".join(map(str, range(200)))
    search = f"{PYTHON_DOOR}simple_hypersearch '{{x}} {{y}}' -p x {many} -p y {many}"
    done = shell(duckrow, f"{search} | head -1", ok=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_a_disk_that_is_full_is_told_in_a_sentence(duckrow: Duckrow) -> None:
    done = shell(duckrow, f"{PYTHON_DOOR}simple_hypersearch '{{x}}' -p x 1 > /dev/full", ok=False)
    assert (done.returncode, done.stderr) == (
        1,
        "simple_hypersearch: The commands cannot be written: No space left on device.\n",
    )
    assert shell(duckrow, f"{PYTHON_DOOR}simple_hypersearch '{{x}}' -p x 1 >&-").stderr == ""


@pytest.mark.parametrize("value", [b"\xff\xfe", "größe".encode()])
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_values_come_out_byte_by_byte_in_every_locale(value: bytes, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "duckrow.dropin.simple_hypersearch", b"run {x}", b"-p", b"x", value],
        env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"},
        capture_output=True,
    )
    assert (done.stdout, done.stderr) == (b"run " + value + b"\n", b"")
