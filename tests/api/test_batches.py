"""Several commands look at one batch at the same time: all of them hear what becomes of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from duckrow.api.client import Client
from duckrow.api.clusters import tender
from duckrow.api.clusters.standing import jobs_in_words, why_it_waits
from duckrow.api.clusters.tender import Tender, rest_after
from duckrow.api.clusters.watch import WatchedRuns, batches_of, still_batches
from duckrow.api.jobs.hold import hold, release
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.order import prioritise
from duckrow.api.jobs.remove import remove
from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.pilots import PilotFolder
from duckrow.clusters.tending import Tending
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.wishes import Wish
from duckrow.store.batches import BatchStore, Standing
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.web.server_options import ServerOptions
from tests.clusters.pretend_cluster import PretendCluster
from tests.web.inside import Inside

RUNNING = {"number": 1, "started_at": 5.0, "devices": ["cpu"], "pid": 1, "log": "x", "stopping": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Of a login node; SLURM has nothing to do with this."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return Folder(str(tmp_path / "state")).make()


@pytest.fixture
def batch(folder: Folder, tmp_path: Path) -> Batch:
    client, place = Client(folder), str(tmp_path / "batch")
    specs = [JobSpec("true", "/") for _ in range(2)]
    with client.database.transaction():
        store = BatchStore(client.database)
        ids = store.add_runs(store.add("batch", place), specs, {})
    return create_batch(place, specs, ids, ClusterRequest(), {}, "python3")


def news_of(client: Client) -> list[int]:
    client.batches.copy()
    news = sorted(client.batches.news)
    client.batches.news.clear()
    return news


def test_what_one_command_has_seen_first_the_others_hear_too(folder: Folder, batch: Batch) -> None:
    clients = [Client(folder), Client(folder)]
    assert [news_of(client) for client in clients] == [[], []]
    pilot, claims = PilotFolder(batch, "1_0"), Claims(batch)
    for run in (0, 1):
        claims.take(pilot.card, run)
    pilot.renew({"running": {"0": {**RUNNING, "claim": 1}}})
    assert [news_of(client) for client in clients] == [[1], [1]]
    claims.finish(0, 1, {"outcome": "succeeded"})
    assert [news_of(client) for client in clients] == [[1], [1]]
    assert [news_of(client) for client in clients] == [[], []]


def test_the_end_of_a_batch_is_heard_by_those_who_did_not_see_it_first(folder: Folder, batch: Batch) -> None:
    clients = [Client(folder), Client(folder)]
    assert [news_of(client) for client in clients] == [[], []]
    pilot, claims = PilotFolder(batch, "1_0"), Claims(batch)
    for run in (0, 1):
        claims.take(pilot.card, run)
        claims.finish(run, 1, {"outcome": "succeeded"})
    assert [news_of(client) for client in clients] == [[1, 2], [1, 2]]
    assert not BatchStore(clients[0].database).any_open()


def test_who_waits_copies_the_last_result_at_once_and_others_now_and_then(
    folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tender, "COPY_S", 1e9)
    monkeypatch.setattr(tender, "_GLANCE_S", 0.0)
    monkeypatch.setattr(tender, "rest_after", lambda took_s, least_s: least_s)  # however long a look takes here
    client = tended(folder)
    assert not client.tender.see_to()
    pilot, claims = PilotFolder(batch, "1_0"), Claims(batch)
    seen = []
    for run in (0, 1):
        claims.take(pilot.card, run)
        claims.finish(run, 1, {"outcome": "succeeded"})
        seen.append((client.tender.see_to(), [view.state for view in client.views([1, 2])]))
    assert seen == [(False, ["queued", "queued"]), (True, ["done", "done"])]
    assert not client.tender.see_to()


def test_opening_a_client_and_looking_at_rows_changes_nothing(folder: Folder, batch: Batch) -> None:
    claims = Claims(batch)
    claims.take(PilotFolder(batch, "1_0").card, 0)
    claims.finish(0, 1, {"outcome": "succeeded"})
    client = Client(folder)
    assert [view.state for view in client.views([1, 2])] == ["queued", "queued"]
    client.tender.copy()
    assert [view.state for view in client.views([1, 2])] == ["done", "queued"]


def test_no_get_copies_or_submits(folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("a GET tends nobody")

    for verb in ("copy", "look", "submit", "see_to"):
        monkeypatch.setattr(Tender, verb, forbidden)
    with Inside(ServerOptions(folder.root)) as inside:
        for path in ("/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/batches", "/api/v1/status", "/api/v1/jobs/1/why"):
            assert inside.ask("GET", path).status_code in (200, 404), path


def test_to_copy_or_look_submits_nothing(folder: Folder, batch: Batch) -> None:
    client = tended(folder)
    client.tender.copy()
    assert client.tender.look()[2] == Standing("", [], {})
    client.tender.submit()
    assert list(client.tender.standings()[2].waiting) == ["1_0", "1_1"]


def test_a_rerun_from_another_login_node_is_seen_where_the_batch_was_done(folder: Folder, batch: Batch) -> None:
    client = Client(folder)
    card, claims = PilotFolder(batch, "1_0").card, Claims(batch)
    for run in (0, 1):
        claims.take(card, run)
        claims.finish(run, 1, {"outcome": "killed"})
    client.batches.copy()
    assert not BatchStore(client.database).any_open()
    claims.reopen(1)  # as another login node does it
    batch.note_reopened()
    client.batches.copy()
    assert [view.state for view in client.views([1, 2])] == ["done", "queued"]


def test_a_full_disk_is_told_and_ends_nothing(folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", batch.folder)

    monkeypatch.setattr(Tending, "submit_missing", full)
    client = tended(folder)
    client.tender.submit()
    assert client.batches.notes == [f"{batch.folder}: No space left on device. Nothing is lost."]


def tended(folder: Folder) -> Client:
    """A client whose runs go to a cluster that is full: what is submitted waits."""
    client, cluster = Client(folder), PretendCluster(f"{folder.root}/cluster", places=0)
    client.tender = Tender(client, lambda _request: cluster)
    return client


def test_a_kill_of_runs_and_jobs_ends_each_where_it_is(
    folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "ensure_daemon", lambda _self: False)
    monkeypatch.setattr(Client, "settle", lambda _self: None)
    client, claims = Client(folder), Claims(batch)
    with client.database.transaction():
        here = client.jobs.add(DAEMON, [JobSpec("true", "/")], {})[0]
    claims.take(PilotFolder(batch, "1_0").card, 0)
    killed = kill(client, [1, 2, here], at_once=True, answered=False)
    assert killed.done == [1, 2, here]
    assert [view.outcome for view in client.views([1, 2])] == [None, "killed"]  # the other is its pilot's to end
    assert (Path(batch.wishes) / f"0.{Wish.KILL_NOW.value}").exists()
    assert client.jobs.wished() == {here}  # a wish for a run on a cluster would wait for ever


def test_runs_are_held_released_and_given_a_priority(
    folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tended(folder)
    client.tender.copy()
    assert hold(client, [1]).done == [1]
    assert prioritise(client, [2], 60).done == [2]
    assert [(view.held, view.priority) for view in client.views([1, 2])] == [(True, 30), (False, 60)]
    assert 1 in release(client, [1]).done
    with pytest.raises(UsageError, match="is queued on a cluster"):
        remove(client, [1])


def test_whoever_wants_runs_hears_that_the_cluster_is_silent_and_what_to_type(folder: Folder, batch: Batch) -> None:
    client, cluster = Client(folder), PretendCluster(f"{folder.root}/cluster", places=0)
    client.tender = Tender(client, lambda _request: cluster)
    hold(client, [1])
    cluster.is_silent = True
    assert release(client, [1]).done == [1]
    silence, hint = client.tender.notes()
    assert silence == "the pretend cluster is silent."
    assert hint.endswith("To submit these later: duckrow batches batch --start")
    cluster.is_silent = False
    assert release(client, [1]).done == [1]
    assert client.tender.notes() == ["SLURM jobs submitted: 1_0, 1_1."]


def test_one_who_watches_hears_each_change_once(folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    client = tended(folder)
    watched = WatchedRuns(client, [1, 2])
    assert (watched.name, batches_of(client, [1, 2])) == ("batch", {watched.batch_id})
    assert [view.id for view in watched.changed()] == [1, 2]  # what was there when it began
    claims = Claims(batch)
    claims.take(PilotFolder(batch, "1_0").card, 0)
    claims.finish(0, 1, {"outcome": "succeeded"})
    assert [(view.id, view.outcome) for view in watched.changed()] == [(1, "succeeded")]
    assert watched.changed() == []
    assert client.tender.notes() == ["SLURM jobs submitted: 1_0, 1_1."]
    assert client.tender.notes() == []
    assert (watched.why_still(), still_batches(client)) == (None, {})


def test_one_who_watches_rests_no_longer_than_until_the_last_result(
    folder: Folder, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims, watched = Claims(batch), WatchedRuns(tended(folder), [1, 2])
    rests: list[float] = []

    def finish_one(seconds: float) -> None:
        claims.finish(len(rests), 1, {"outcome": "succeeded"})
        rests.append(seconds)

    monkeypatch.setattr("duckrow.api.clusters.watch.time.sleep", finish_one)
    watched.changed()
    watched.rest(100.0, left=2)
    assert rests == [20.0, 20.0]


def test_what_slurm_says_of_its_jobs_is_told_in_words() -> None:
    standing = Standing("", ["7_0"], {"7_1": "Resources", "7_2": "Resources"})
    assert jobs_in_words(standing) == "7_0 run; 7_1, 7_2 wait (Resources)"
    held = Standing("", [], {"7_1": "launch failed requeued held"}, {"7_1": "launch failed requeued held"})
    assert "SLURM holds job 7_1 (launch failed requeued held)" in why_it_waits("b", held)[-1]


@pytest.mark.parametrize(("took_s", "rests_s"), [(0.001, 0.2), (0.05, 1.0), (6.0, 2.0)])
def test_who_waits_looks_less_often_if_that_is_slow_but_never_rests_for_long(took_s: float, rests_s: float) -> None:
    assert rest_after(took_s, least_s=0.2) == rests_s
    assert rest_after(took_s, least_s=0.2, share=4) == pytest.approx(min(max(0.2, 4 * took_s), 2.0))
