"""Many jobs are added with few statements, and stand there as if each had been added alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from duckrow.core.clock import Now
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import JobSpec, PointOfSweep
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs import alike, requests
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf

NOW = Now(1e9, 100.0, 200.0)
TEXTS = (
    *('echo "a\'b"', "printf 'a\nb\tc\x01'", "echo ä€😀\u2028", '{"a": [1]}', "[1, 2]", "1", "1e400", "null", "true"),
    *("echo \\u0000", "x" * 3000, "\\"),
)
BYTES = "echo \udcff"  # a command that is not UTF-8


def of_all_kinds() -> list[JobSpec]:
    """Neighbours that differ in anything that jobs may differ in."""
    plain = [JobSpec(text, "/here") for text in TEXTS * 3]
    array = [JobSpec("true", "/here", array_index=index, project="p") for index in range(40)]
    sweep = [
        JobSpec(
            f"train {n}",
            "/here",
            name=f"n{n}",
            folder=f"/runs/ä{n}",
            needs=Needs(auto=True, parameters=f'{{"a": {n}}}'),
        )
        for n in range(40)
    ]
    for n, spec in enumerate(sweep):
        spec.variables, spec.point = {"N": str(n % 3)}, PointOfSweep(1, str(n), "{}")
    mixed = [
        JobSpec("true", f"/here/{n % 2}", priority=n, timeout_s=0.1 + n, gpus=n % 3, delay_s=n * 0.1) for n in range(20)
    ]
    outputs = [JobSpec("true", "/here", outfile=None if n % 2 else f"/out/{n}\udcfe", held=True) for n in range(40)]
    return [*plain, *array, *sweep, *mixed, *outputs, *[JobSpec(BYTES, "/here")] * 20, JobSpec("last", "/")]


def rows_of(folder: Path, specs: list[JobSpec]) -> list[tuple[object, ...]]:
    database = Database(Folder(folder).make())
    database.execute("INSERT INTO sweeps VALUES (1, 'p', 's', '/', '', 0)")
    with database.transaction():
        assert JobStore(database).add(DAEMON, specs, {"A": "1"}, now=NOW) == range(1, len(specs) + 1)
    of_jobs = "SELECT *, typeof(command), typeof(array_index), typeof(timeout_s) FROM jobs"
    found = [tuple(row) for query in (of_jobs, "SELECT * FROM points") for row in database.all(query)]
    database.close()
    return found


def test_jobs_that_are_added_together_are_what_they_would_be_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alike, "_AT_ONCE", 17)
    together = rows_of(tmp_path / "together", of_all_kinds())
    monkeypatch.setattr(requests, "MANY", 10_000)
    one_by_one = rows_of(tmp_path / "one by one", of_all_kinds())
    assert together == one_by_one


def test_thousands_of_jobs_are_added_with_few_statements(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    one_by_one: list[object] = []
    execute = shelf.database.execute

    def noted(statement: str, *values: Any) -> sqlite3.Cursor:
        statements.append(statement)
        return execute(statement, *values)

    monkeypatch.setattr(shelf.database, "execute", noted)
    monkeypatch.setattr(shelf.database, "execute_many", lambda _statement, rows: one_by_one.extend(rows))
    shelf.add(*(f"python train{n % 5}.py --seed {n}" for n in range(8000)))
    assert not one_by_one
    assert len(statements) < 10


def test_too_much_text_for_one_statement_is_added_all_the_same(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_LONGEST", 100)
    assert len(shelf.add(*map(str, range(100)))) == 100
    assert shelf.database.one("SELECT group_concat(command) FROM jobs") == ",".join(map(str, range(100)))
