"""What `duckrow doctor` says of the SQLite that Python brings along."""

from __future__ import annotations

import pytest

from duckrow.api.machine.doctor import examine
from duckrow.api.machine.finding import OK, PROBLEM, Finding
from duckrow.store.sqlite import version as sqlite_version
from duckrow.store.sqlite.version import LEAST_SQLITE


def told_of_sqlite(monkeypatch: pytest.MonkeyPatch, version: str) -> Finding:
    monkeypatch.setattr(sqlite_version, "SQLITE_VERSION", version)
    return next(finding for finding in examine() if finding.check == "sqlite")


def test_doctor_tells_which_sqlite_there_is_and_which_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_of_sqlite(monkeypatch, "3.40.1")
    assert (told.level, told.found) == (OK, f"3.40.1 (at least {LEAST_SQLITE} is needed)")


def test_doctor_calls_a_sqlite_that_is_too_old_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    told = told_of_sqlite(monkeypatch, "3.22.0")
    assert told.level == PROBLEM
    assert "uv tool install" in told.advice
