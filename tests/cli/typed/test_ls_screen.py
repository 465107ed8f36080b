"""`ls` in terminals of all sizes: no line wraps, nothing scrolls off, and what is not shown is counted."""

from __future__ import annotations

import pytest

from tests.cli.typed.dry_duckrow import DryDuckrow

COMMANDS = [
    "python train.py --text " + "日本語" * 30,
    "echo cafe\u0301 " + "x" * 300,
    *[f"python train.py --seed {seed}" for seed in range(48)],
]
NAME = "a-name-of-middling-length"


@pytest.fixture
def long_queue(duckrow: DryDuckrow) -> DryDuckrow:
    duckrow.up("--slots", "1")
    duckrow("pause")
    duckrow("submit", "--file", "-", "--hold", stdin="\n".join(COMMANDS))
    duckrow("down")
    duckrow.sql("UPDATE jobs SET name = ? WHERE id = 5", NAME)
    return duckrow


def test_in_a_pipe_it_is_complete(long_queue: DryDuckrow) -> None:
    for columns in ("60", "200"):
        piped = long_queue("ls", env={"COLUMNS": columns, "LINES": "10"})
        assert [line.split(maxsplit=4)[-1] for line in piped.stdout.splitlines()[1:3]] == COMMANDS[:2]
        assert piped.stdout.count("\n") == 51
        assert "more" not in piped.stderr
    assert '"id": 50,' in long_queue("ls", "--json").stdout


def test_who_names_jobs_is_told_what_blocks_them(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    done, running, waits = (duckrow.submit(command) for command in ("true", "sleep 600", "python fit.py"))
    duckrow.wait_for(running, "running")
    assert duckrow("ls", str(done), str(waits)).stderr == "", "they can be counted"
    duckrow("down")
    for words in (str(waits), "fit"):
        assert duckrow("ls", words).stderr == "1 queued; the daemon is not running (duckrow up).\n"
    assert duckrow("ls", str(done)).stderr == "", "it waits for nobody"


def test_of_jobs_that_are_named_the_newest_are_shown(duckrow: DryDuckrow) -> None:
    duckrow.up("--slots", "1")
    duckrow("submit", "--name", "fit", "--file", "-", stdin="true\n" * 5)
    duckrow("wait", "--all")
    listed = duckrow("ls", "fit", "--limit", "2")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == ["4", "5"]
    assert listed.stderr == "5 succeeded.\n3 more: add --page 2 or --all\n"
    assert [line.split()[0] for line in duckrow("ls", "fit").stdout.splitlines()[1:]] == list("12345")
