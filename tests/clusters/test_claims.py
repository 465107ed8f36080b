"""Runs are taken by one of many, given back, finished; whoever dies in between, nothing is taken twice or lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from duckrow.clusters import shared_files as files
from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import LOGIN, Claims, Taker
from duckrow.clusters.lapsing import lapse
from duckrow.clusters.pilots import PilotFolder, read_pilots, started_at
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.needs import Needs
from tests.clusters.conftest import MakeBatch, on_slurm, told
from tests.conftest import DEADLINE_S
from tests.fork_server import Script


def looked(batch: Batch) -> Claims:
    claims = Claims(batch)
    claims.look()
    return claims


def test_a_batch_says_the_same_to_whoever_reads_it(make_batch: MakeBatch) -> None:
    request = ClusterRequest(partition="dev", sbatch=("--x=1",), runs_per_job=3)
    made = make_batch(2, request, needs=Needs(gpu_mem_mb=100), variables={"X": "\udce9"}, retries=2)
    read = Batch(made.folder)
    assert (read.request, read.count, read.environment()) == (request, 2, {"A": "b"})
    assert [(run.number, run.job_id, run.spec.command) for run in read.runs] == [(0, 11, "echo 0"), (1, 12, "echo 1")]
    assert (read.runs[1].spec.needs.gpu_mem_mb, read.runs[1].spec.variables, read.runs[1].spec.retries) == (
        100,
        {"X": "\udce9"},
        2,
    )


def test_each_run_is_taken_once(make_batch: MakeBatch) -> None:
    batch = make_batch(3)
    cards = [PilotFolder(batch, name).card for name in ("1_0", "1_1")]
    takers = [Taker(Claims(batch), card) for card in cards]
    taken = [taker.next() for _ in range(2) for taker in takers]
    assert taken == [(0, 1), (1, 1), (2, 1), None]


def test_runs_of_a_higher_priority_are_taken_first(make_batch: MakeBatch) -> None:
    batch = make_batch(3)
    batch.runs[2].spec.priority = 99
    taker = Taker(Claims(batch), PilotFolder(batch, "1_0").card)
    assert [taker.next() for _ in range(3)] == [(2, 1), (0, 1), (1, 1)]


def test_a_run_whose_claim_cannot_be_written_is_the_next_when_it_can(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch(3)
    taker = Taker(Claims(batch), PilotFolder(batch, "1_0").card)

    def full(_claims: Claims, _card: str, _run: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Claims, "take", full)
        with pytest.raises(OSError, match="No space"):
            taker.next()
    assert [taker.next(), taker.next()] == [(0, 1), (1, 1)]


def test_a_chunk_is_all_that_its_pilot_takes(make_batch: MakeBatch) -> None:
    batch = make_batch(4)
    taker = Taker(Claims(batch), PilotFolder(batch, "1_0").card, range(2, 4))
    assert [taker.next() for _ in range(3)] == [(2, 1), (3, 1), None]


def test_a_run_that_does_not_fit_is_left_to_others(make_batch: MakeBatch) -> None:
    batch = make_batch(3)
    short, other = (PilotFolder(batch, name).card for name in ("1_0", "1_1"))
    taker = Taker(Claims(batch), short, fits=lambda run: run != 0)
    assert [taker.next() for _ in range(3)] == [(1, 1), (2, 1), None]
    assert Taker(Claims(batch), other).next() == (0, 1)


def test_what_is_given_back_is_taken_again_with_the_next_number(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    us = PilotFolder(batch, "1_0")
    claims = looked(batch)
    assert claims.take(us.card, 0) == 1
    claims.release(0, 1, "told to", {"interruption": True})
    again = looked(batch)
    assert again.free() == [0]
    assert again.take(us.card, 0) == 2
    assert again.claimed() == {0: 2}
    assert again.holder(0, 2) == "1_0.0"
    assert again.interruptions(0) == 1


def test_a_slow_process_cannot_take_what_was_given_back_and_taken_again(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    slow, quick = looked(batch), looked(batch)
    cards = [PilotFolder(batch, name).card for name in ("1_0", "1_1")]
    quick.take(cards[1], 0)
    quick.release(0, 1, "given back")
    looked(batch).take(cards[1], 0)
    assert slow.take(cards[0], 0) is None


def test_a_run_that_turns_out_to_be_done_is_not_run_again(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    late = looked(batch)
    first = looked(batch)
    first.take(PilotFolder(batch, "1_0").card, 0)
    first.release(0, 1, "thought dead")
    late.look()
    first.finish(0, 1, {"outcome": "succeeded"})  # it was not
    assert late.is_free(0)
    assert late.take(PilotFolder(batch, "1_1").card, 0) is None
    assert looked(batch).free() == []


def test_a_result_can_be_taken_back_and_is_not_forgotten(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    claims = looked(batch)
    claims.take(PilotFolder(batch, "1_0").card, 0)
    claims.finish(0, 1, {"outcome": "failed", "attempts": [{"number": 1}]})
    claims.reopen(0)
    again = looked(batch)
    assert again.free() == [0]
    assert again.history(0)[0]["attempts"] == [{"number": 1}]


def test_a_result_of_which_only_the_name_has_survived_is_none(make_batch: MakeBatch) -> None:
    batch = make_batch(1)
    Path(f"{batch.results}/0.json").touch()
    assert looked(batch).result(0) is None


def test_a_lost_reply_is_not_taken_for_a_failure(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = make_batch(1)
    us = PilotFolder(batch, "1_0")
    link = os.link

    def link_and_lose_the_reply(source: str, target: str) -> None:
        link(source, target)
        raise FileExistsError(target)  # the system has repeated the call

    monkeypatch.setattr(os, "link", link_and_lose_the_reply)
    assert looked(batch).take(us.card, 0) == 1


def test_a_file_system_without_links_does_it_by_exclusive_creation(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    batch = make_batch(1)
    cards = [PilotFolder(batch, name).card for name in ("1_0", "1_1")]
    assert [files.take(card, f"{batch.claims}/0.1") for card in cards] == [True, False]
    assert looked(batch).holder(0, 1) == "1_0.0"


def test_a_job_that_slurm_starts_again_is_another_pilot(make_batch: MakeBatch) -> None:
    batch = make_batch()
    assert [PilotFolder(batch, "1_0").name for _ in range(3)] == ["1_0.0", "1_0.1", "1_0.2"]


RACING = Path(__file__).parent / "racing_pilot.py"


def test_of_many_pilots_that_race_and_some_that_die_each_run_succeeds_once(make_batch: MakeBatch) -> None:
    batch = make_batch(120, ClusterRequest(lease=0.05))
    deaths_seen = 0
    for generation, deaths in enumerate([(5, 9, 2, 14), (None, None, 7, None), (None,)]):
        pilots = []
        for index, dies in enumerate(deaths):
            words = [batch.folder, f"{generation + 1}_{index}", *([] if dies is None else [str(dies)])]
            pilots.append(Script[bytes]([sys.executable, RACING, *words]))
        ends = [pilot.wait(DEADLINE_S) for pilot in pilots]
        assert set(ends) <= {0, -signal.SIGKILL}
        deaths_seen += ends.count(-signal.SIGKILL)
        tending = on_slurm(batch)
        while True:  # until the leases of the dead have run out
            tending.look({})
            lapse(tending)
            tending.claims.look()
            if not tending.claims.claimed():
                break
    assert looked(batch).done == set(range(120))
    ran = Path(f"{batch.folder}/ran").read_text().split()
    assert deaths_seen >= 1
    assert len(ran) == 120 + deaths_seen  # each of them had begun one more
    assert sorted(set(map(int, ran))) == list(range(120))


def test_a_claim_lapses_only_when_slurm_and_the_pilot_are_both_silent(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0))
    us = PilotFolder(batch, "1_0")
    us.renew({"running": {"0": {"claim": 1, "number": 1, "started_at": 5.0, "devices": ["0"], "pid": 1, "log": "x"}}})
    looked(batch).take(us.card, 0)

    def lapsed(state: str | None) -> list[int]:
        tending = on_slurm(batch)
        tending.look({} if state is None else told({"1_0": state}))
        return lapse(tending)

    assert [lapsed(state) for state in ("RUNNING", "COMPLETING", "PENDING", "NODE_FAIL", "FAILED", None)] == [[]] * 6
    silence = os.stat(f"{us.path}/status.json").st_mtime - 2000
    os.utime(f"{us.path}/status.json", (silence, silence))
    assert lapsed("RUNNING") == []  # the file server may have stood still
    assert lapsed("NODE_FAIL") == [0]
    release = looked(batch).release_of(0, 1)
    assert release["interruption"] is True
    assert release["attempts"][0]["outcome"] == "lost"


def test_a_pilot_that_has_said_that_it_ended_is_believed_at_once(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0))
    us = PilotFolder(batch, "1_0")
    looked(batch).take(us.card, 0)
    us.end("told to")
    tending = on_slurm(batch)
    tending.look(told({"1_0": "RUNNING"}))
    assert lapse(tending) == [0]


def test_an_earlier_life_of_a_job_that_runs_again_is_over(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=0.0))
    looked(batch).take(PilotFolder(batch, "1_0").card, 0)
    PilotFolder(batch, "1_0")
    tending = on_slurm(batch)
    tending.look(told({"1_0": "RUNNING"}))
    assert lapse(tending) == [0]


def test_what_a_pilot_gives_back_while_somebody_looks_is_not_taken_for_an_interruption(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0, max_interruptions=1))
    us = PilotFolder(batch, "1_0")
    claims = looked(batch)
    claims.take(us.card, 0)
    tending = on_slurm(batch)
    look = tending.claims.look

    def look_and_be_late() -> None:
        look()
        if not claims.released:
            claims.release(0, 1, "told to end")
            us.end("told to end")

    monkeypatch.setattr(tending.claims, "look", look_and_be_late)
    tending.look(told({"1_0": "CANCELLED"}))
    assert lapse(tending) == []
    assert looked(batch).interruptions(0) == 0


def test_a_run_that_was_being_killed_by_a_command_that_died_is_killed(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0))
    card = f"{batch.wishes}/.login"
    files.put(card, {"pilot": LOGIN})
    looked(batch).take(card, 0)

    def tend() -> Claims:
        tending = on_slurm(batch)
        tending.look({})
        lapse(tending)
        return looked(batch)

    assert tend().claimed() == {0: 1}
    long_ago = os.stat(card).st_mtime - 2000
    os.utime(card, (long_ago, long_ago))
    assert tend().done == {0}
    assert (looked(batch).result(0) or {})["outcome"] == "killed"


def test_a_claim_that_does_not_say_whose_it_is_lapses(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0))
    claim = Path(f"{batch.claims}/0.1")
    claim.touch()  # where there are no links, a node can die between making and writing it
    long_ago = claim.stat().st_mtime - 2000
    os.utime(claim, (long_ago, long_ago))
    tending = on_slurm(batch)
    tending.look({})
    lapse(tending)
    assert looked(batch).free() == [0]


def test_a_wish_for_a_run_does_not_outlive_it(make_batch: MakeBatch) -> None:
    batch = make_batch(12)
    claims = looked(batch)
    card = PilotFolder(batch, "1_0").card
    for run in (1, 11):
        claims.take(card, run)
        files.put(f"{batch.wishes}/{run}.kill", {})
    claims.finish(1, 1, {"outcome": "failed"})
    claims.reopen(1)
    assert files.names(batch.wishes) == ["11.kill"]


def test_threads_may_write_the_same_file(tmp_path: Path) -> None:
    path, failures = str(tmp_path / "status.json"), []

    def write() -> None:
        try:
            for number in range(200):
                files.put(path, {"number": number}, durable=False)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_pilot_that_has_not_yet_written_its_card_has_started_all_the_same(make_batch: MakeBatch) -> None:
    batch = make_batch()
    os.mkdir(f"{batch.pilots}/1_0.0")
    (pilot,) = read_pilots(batch)
    assert started_at(batch, pilot) == os.stat(f"{batch.pilots}/1_0.0").st_mtime


def test_a_run_that_is_interrupted_too_often_is_given_up(make_batch: MakeBatch) -> None:
    batch = make_batch(1, ClusterRequest(lease=1000.0, max_interruptions=1))
    for life in range(2):
        us = PilotFolder(batch, "1_0")
        assert looked(batch).take(us.card, 0) == life + 1
        us.end("died")
        tending = on_slurm(batch)
        tending.look({})
        lapse(tending)
    result = json.loads(Path(f"{batch.results}/0.json").read_text())
    assert result["outcome"] == "lost"
    assert "too often" in result["detail"]


def test_pilots_are_read_with_what_they_run(make_batch: MakeBatch) -> None:
    batch = make_batch()
    us = PilotFolder(batch, "7_3")
    us.renew({"running": {"2": {"claim": 1}}})
    Path(f"{batch.pilots}/7_3.log").touch()
    (pilot,) = read_pilots(batch)
    assert (pilot.slurm_job, pilot.life, pilot.running, pilot.end) == ("7_3", 0, {2: {"claim": 1}}, None)
