"""Which jobs are listed, and in which order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.queue.job_pages import SORTS, jobs_of_page, page_with_counts
from duckrow.api.queue.listing import COLUMNS, STATES, ended_runs, listing, parse_words, tally, variable_names
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.jobs.job_filter import Filter
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Six jobs: 1 succeeded, 2 failed, 3 skipped, 4 runs, 5 and 6 wait, 6 with the higher priority."""
    root = tmp_path / "state"
    root.mkdir()
    client = Client(Folder(str(root)))
    specs = [
        JobSpec("true", "/", name="prep"),
        JobSpec("false", "/", name="fit-1"),
        JobSpec("true", "/", name="fit-2", project="thesis"),
        JobSpec("sleep 9", "/", name="fit-3"),
        JobSpec("true", "/", name="prep"),
        JobSpec("true", "/", name="prep", priority=50),
    ]
    with client.database.transaction():
        environment = {"B": "secret", "A": "secret"}
        client.jobs.add(DAEMON, specs, environment)
        for job_id, outcome in ((1, "succeeded"), (2, "failed"), (3, "skipped")):
            client.database.execute("UPDATE jobs SET state = 'done', outcome = ? WHERE id = ?", (outcome, job_id))
        client.database.execute("UPDATE jobs SET state = 'running', attempts = 1 WHERE id = 4")
        client.database.execute("UPDATE jobs SET attempts = 1 WHERE id IN (1, 2)")
        now = time.time()
        ends = {1: (now - 50, "succeeded"), 2: (now - 90, "failed"), 4: (None, None)}
        for job_id, (ended_at, ended_as) in ends.items():
            client.database.execute(
                "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, ended_at, outcome) "
                "VALUES (?, 1, 1, '', '[[\"0\", 1000000]]', '', ?, ?, ?)",
                (job_id, now - 100, ended_at, ended_as),
            )
    yield client
    client.close()


def ids(
    client: Client, filter: Filter | None = None, limit: int = -1, page: int = 1, sort: str | None = None
) -> list[int]:
    return [view.id for view in listing(client, filter or Filter(), limit, page, sort)]


def test_what_waits_stands_last_in_the_order_of_the_queue(client: Client) -> None:
    assert ids(client) == [1, 2, 3, 4, 6, 5]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        (Filter(statuses=["queued"]), [6, 5]),
        (Filter(statuses=["queued", "failed"]), [2, 6, 5]),
        (Filter(statuses=["done"]), [1, 2, 3]),
        (Filter(failed=True), [2]),
        (Filter(project="thesis"), [3]),
        (Filter(name="fit-*"), [2, 3, 4]),
        (Filter(name="fit"), []),
        (Filter(name="fit-[12]", project="default"), [2]),
        (Filter(ids=[5, 1]), [1, 5]),
        (Filter(ids=[]), []),
        (Filter(since_s=3600), [1, 2, 3, 4, 6, 5]),
        (Filter(older_than_s=3600), []),
    ],
)
def test_all_that_is_asked_for_must_hold(client: Client, filter: Filter, found: list[int]) -> None:
    assert ids(client, filter) == found
    assert sum(tally(client, filter).values()) == len(found)


@pytest.mark.parametrize(
    ("statuses", "found"),
    [
        (["held"], [5]),
        (["suspended"], [4]),
        (["held", "failed"], [2, 5]),
        (["held", "suspended"], [4, 5]),
        (["held", "queued"], [6, 5]),
    ],
)
def test_what_a_list_says_beside_a_state_can_be_asked_for(
    client: Client, statuses: list[str], found: list[int]
) -> None:
    with client.database.transaction():
        client.database.execute("UPDATE jobs SET held = 1 WHERE id IN (1, 5)")  # 1 is done: it is not held any more
        client.database.execute("INSERT INTO wishes (job_id, wish, at) VALUES (4, 'suspended:itself', 0)")
    assert ids(client, Filter(statuses)) == found
    assert sum(tally(client, Filter(statuses)).values()) == len(found)


def test_age_is_that_of_the_job_not_of_its_attempts(client: Client) -> None:
    client.database.execute("UPDATE jobs SET created_at = created_at - 7200 WHERE id = 4")
    assert ids(client, Filter(older_than_s=3600)) == [4]
    assert 4 not in ids(client, Filter(since_s=3600))


def test_pages_show_each_job_once_the_most_worth_seeing_first(client: Client) -> None:
    assert [ids(client, limit=2, page=page) for page in (1, 2, 3, 4)] == [[4, 6], [3, 5], [1, 2], []]
    assert [ids(client, limit=4, page=page) for page in (1, 2)] == [[3, 4, 6, 5], [1, 2]]


def test_a_column_sorts_upwards_or_downwards_and_what_is_not_known_comes_last(client: Client) -> None:
    assert ids(client, sort="-id", limit=2) == [6, 5]
    assert ids(client, sort="-id", limit=2, page=2) == [4, 3]
    assert ids(client, sort="name") == [2, 3, 4, 1, 5, 6]
    assert ids(client, sort="-priority", limit=1) == [6]
    assert ids(client, sort="time")[:3] == [2, 1, 4]
    assert ids(client, sort="-time")[:3] == [4, 1, 2]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_can_be_sorted_by(client: Client, column: str) -> None:
    assert sorted(ids(client, sort=column)) == [1, 2, 3, 4, 5, 6]
    assert sorted(ids(client, sort=f"-{column}")) == [1, 2, 3, 4, 5, 6]


def test_totals_are_by_state_and_by_outcome_once_done(client: Client) -> None:
    assert tally(client, Filter()) == {"queued": 2, "running": 1, "succeeded": 1, "failed": 1, "skipped": 1}


def test_a_running_job_is_done_when_its_like_would_be(client: Client) -> None:
    client.database.execute("UPDATE jobs SET name = 'prep' WHERE id = 4")
    client.database.execute("UPDATE attempts SET started_at = started_at + 80 WHERE job_id = 4")
    (running,) = listing(client, Filter(ids=[4]))
    assert running.eta_s == pytest.approx(30, abs=2)  # prep took 50 s, and 20 have passed


def test_runs_of_a_script_tell_how_long_one_with_other_parameters_takes(client: Client) -> None:
    """The parameter that decides is learned; the name, under which only long runs are known, does not count."""
    epochs = [1, 2, 3, 4, 5, 6]
    with client.database.transaction():
        specs = [JobSpec(f"python fit.py --epochs {number} --seed {number * 7}", "/", name="fit") for number in epochs]
        new = client.jobs.add(DAEMON, specs, {})
        for job_id, number in zip(new, epochs, strict=True):
            client.database.execute("UPDATE jobs SET state = 'done', outcome = 'succeeded' WHERE id = ?", (job_id,))
            client.database.execute(
                "INSERT INTO attempts (job_id, number, host_id, keeper, holds, log, started_at, ended_at, outcome) "
                "VALUES (?, 1, 1, '', '[[\"0\", 1000000]]', '', 0, ?, 'succeeded')",
                (job_id, 600.0 * number),
            )
        client.database.execute(
            "UPDATE jobs SET command = 'python fit.py --epochs 10 --seed 3', name = 'fit' WHERE id = 4"
        )
    (running,) = listing(client, Filter(ids=[4]))
    assert running.eta_s == pytest.approx(6000 - 100, rel=0.03)


def test_nobody_says_when_a_job_will_be_done_that_nobody_will_start(client: Client) -> None:
    assert [view.eta_s for view in listing(client, Filter(statuses=["queued"]))] == [None, None]


def test_a_job_that_waits_for_a_run_that_has_ended_is_marked(client: Client) -> None:
    run = client.hosts.add_run("sweep", "/", "")
    client.database.execute("UPDATE jobs SET host_id = ? WHERE id = 5", (run,))
    assert {view.id: view.run_ended for view in listing(client, Filter())}[5]
    assert not {view.id: view.run_ended for view in listing(client, Filter())}[6]
    assert [(run.name, run.jobs) for run in ended_runs(client)] == [("sweep", 1)]


def test_of_variables_only_the_names_are_told(client: Client) -> None:
    assert variable_names(client, 1) == ["A", "B"]


def test_words_may_be_many_at_once_and_in_capitals() -> None:
    assert parse_words("state", ["queued,Running", " done"], STATES) == ("queued", "running", "done")
    assert parse_words("state", [""], STATES) == ()


def test_of_a_wrong_word_the_nearest_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"There is no column 'comand'. Did you mean 'command'\? Choose from: id, name"
    ):
        parse_words("column", ["id,comand"], list(COLUMNS))


@pytest.mark.parametrize("sort", SORTS)
def test_a_page_is_sorted_both_ways_by_what_it_offers(client: Client, sort: str) -> None:
    up = [view.id for view in jobs_of_page(client, Filter(), sort)]
    down = [view.id for view in jobs_of_page(client, Filter(), f"-{sort}")]
    assert sorted(up) == sorted(down) == [1, 2, 3, 4, 5, 6]
    assert [jobs_of_page(client, Filter(), sort, page, 2)[0].id for page in (1, 2, 3)] == up[::2]


def test_a_page_by_id_begins_with_the_newest_if_asked(client: Client) -> None:
    assert [view.id for view in jobs_of_page(client, Filter(), "-id", per_page=2)] == [6, 5]
    assert [view.id for view in jobs_of_page(client, Filter(), "-priority", per_page=1)] == [6]
    assert {view.id for view in jobs_of_page(client, Filter(), "duration")[-3:]} == {3, 5, 6}  # those that have none


_SEARCHES = (
    Filter(text="fit"),  # in names
    Filter(text="sle"),  # in a command
    Filter(text="THESIS"),  # a project, whatever the case
    Filter(text="6"),  # an id
    Filter(text="fit-1 and much more than any name has"),
    Filter(text="t_u"),  # a sign that SQLite would take for any letter
    Filter(text="t", statuses=["queued"]),
    Filter(text="t", statuses=["done", "running"]),
    Filter(text="t", statuses=["failed", "skipped"]),
    Filter(name="fit*"),
)


@pytest.mark.parametrize("search", _SEARCHES)
@pytest.mark.parametrize("sort", [None, "-name"])
def test_a_page_and_its_counts_are_the_same_whether_few_jobs_match_or_many(
    client: Client, search: Filter, sort: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = page_with_counts(client, search, tally, sort)
    monkeypatch.setattr("duckrow.api.queue.job_pages._FEW", -1)
    many = page_with_counts(client, search, tally, sort)
    assert [view.id for view in few[0]] == [view.id for view in many[0]]
    assert few[1] == many[1] == tally(client, search._replace(statuses=()))


@pytest.mark.parametrize(
    ("text", "found"),
    [("fit", [2, 3, 4]), ("sle", [4]), ("THESIS", [3]), ("6", [6]), ("t_u", []), ("fit-1 and more", [])],
)
def test_a_text_is_looked_for_in_names_commands_projects_and_ids(client: Client, text: str, found: list[int]) -> None:
    assert sorted(ids(client, Filter(text=text))) == found


def test_a_search_that_finds_few_jobs_reads_all_of_them_only_once(client: Client) -> None:
    with client.database.transaction():
        client.jobs.add(DAEMON, [JobSpec(f"true {number}", "/") for number in range(2000)], {})
    steps: list[int] = []

    def steps_of(question: Callable[[], object]) -> int:
        steps.clear()
        client.database._connection.set_progress_handler(lambda: steps.append(1), 100)
        question()
        client.database._connection.set_progress_handler(None, 100)
        return len(steps)

    rare = Filter(text="true 77")
    to_count = steps_of(lambda: tally(client, rare))
    assert steps_of(lambda: page_with_counts(client, rare, tally)) < 1.5 * to_count
