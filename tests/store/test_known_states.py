"""The database accepts the known states and outcomes only; so does a migrated one."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from duckrow.core.life.states import Outcome, State
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.connection import migrations
from duckrow.store.sqlite.database import Database
from tests.store.shelf import Shelf

_SCRIPT = next(path for path in migrations() if path.endswith("_known_states.sql"))
_BEFORE = migrations()[: migrations().index(_SCRIPT)]

NEW_JOB = (
    "INSERT INTO jobs (host_id, project, name, command, cwd, environment_id, shell, notice_s, grace_s, retries,"
    " backoff_s, priority, position, created_at, changed_at, state, outcome)"
    " VALUES (1, 'p', 'n', 'true', '/', 1, '/bin/sh', 30, 10, 0, 10, 30, 1, 0, 0, ?, ?)"
)
NEW_ATTEMPT = (
    "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, outcome)"
    " VALUES (1, ?, 1, 'k', '[]', '', 0, ?)"
)
NEW_EVENT = "INSERT INTO events VALUES (1, ?, 0, ?, ?, NULL, 1, '')"


def outcome_of(state: State) -> str | None:
    return Outcome.FAILED if state is State.DONE else None


def database_of_before(folder: Folder) -> sqlite3.Connection:
    raw = sqlite3.connect(folder.database, isolation_level=None)
    for script in _BEFORE:
        raw.executescript(Path(script).read_text())
    raw.execute("INSERT INTO environments VALUES (1, '{}')")
    raw.execute(f"PRAGMA user_version = {len(_BEFORE)}")
    return raw


def test_the_words_are_those_of_the_rules() -> None:
    words = re.findall(r"WHEN '([a-z-]+)' THEN", Path(_SCRIPT).read_text())
    assert set(words) == {*State, *Outcome}


def test_every_state_and_outcome_is_taken(shelf: Shelf) -> None:
    shelf.add("first")
    for state in State:
        shelf.change(NEW_JOB, state, outcome_of(state))
        shelf.change("UPDATE jobs SET state = ?, outcome = ? WHERE id = 1", state, outcome_of(state))
    for number, outcome in enumerate(Outcome, start=1):
        shelf.change(NEW_JOB, State.DONE, outcome)
        shelf.change(NEW_ATTEMPT, number, outcome)
        shelf.change("UPDATE attempts SET outcome = ?", outcome)
        shelf.change("UPDATE jobs SET outcome = ? WHERE id = 1", outcome)
    for number, state in enumerate(State, start=100):
        shelf.change(NEW_EVENT, number, state, state)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (NEW_JOB, ("waiting", None)),
        (NEW_JOB, ("done", "well")),
        ("UPDATE jobs SET state = ?", ("paused",)),
        ("UPDATE jobs SET state = 'done', outcome = ?", ("Failed",)),
        (NEW_ATTEMPT, (2, "oom")),
        ("UPDATE attempts SET outcome = ?", ("",)),
        (NEW_EVENT, (100, "queued", "runing")),
        (NEW_EVENT, (100, "", "running")),
    ],
)
def test_a_wrong_state_or_outcome_is_refused(shelf: Shelf, statement: str, values: tuple[str, ...]) -> None:
    shelf.add("first")
    shelf.run(1)
    before = [tuple(row) for row in shelf.database.all("SELECT state, outcome FROM jobs")]
    with pytest.raises(sqlite3.IntegrityError, match=r"there is no such (state|outcome) of"):
        shelf.database.execute(statement, values)
    assert [tuple(row) for row in shelf.database.all("SELECT state, outcome FROM jobs")] == before


def test_a_database_with_jobs_in_every_state_is_brought_up_to_date_and_they_go_on(folder: Folder) -> None:
    raw = database_of_before(folder)
    for state in State:
        raw.execute(NEW_JOB, (state, outcome_of(state)))
    raw.execute("UPDATE sqlite_sequence SET seq = 70 WHERE name = 'jobs'")  # the later ones were removed
    raw.close()
    shelf = Shelf(Database(folder))
    assert [row.state for row in shelf.jobs.pick()] == list(State)
    assert shelf.add("next") == [71]
    shelf.finish(shelf.run(1))
    assert [event.after for event in shelf.story.events(1)] == ["starting", "running", "done"]
    shelf.database.close()


def test_an_older_database_with_a_word_that_nobody_knows_still_opens(folder: Folder) -> None:
    raw = database_of_before(folder)
    raw.execute(NEW_JOB, ("done", "pruned-by-hand"))
    raw.execute(NEW_JOB, ("queued", None))
    raw.close()
    shelf = Shelf(Database(folder))
    assert shelf.head() == [2]
    shelf.database.close()


def test_no_table_is_copied_however_many_jobs_there_are(folder: Folder) -> None:
    raw = database_of_before(folder)
    raw.execute("BEGIN")
    raw.executemany(NEW_JOB, [("queued", None)] * 5000)
    raw.execute("COMMIT")
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.close()
    database = Database(folder)
    assert database.one("PRAGMA page_count") - pages < 10 < pages
    database.close()
