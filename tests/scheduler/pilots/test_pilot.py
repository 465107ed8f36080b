"""A pilot without a cluster and without processes: what it takes, when it leaves, and what it gives back."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGTERM, SIGUSR1, SIGUSR2
from typing import Any

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.pilots import TIME_LIMIT, TOLD_TO_END, PilotFolder, read_pilot
from duckrow.clusters.port import JobFacts
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import JobSpec
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.gpus import dry_reader
from duckrow.engines.dry.machine import DryMachine
from duckrow.scheduler import pilot
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.scheduler.pilot import LEASE_LOST, PilotHost, _if_killed, chunk_of, local_folder, own_folder
from duckrow.scheduler.pilots import runs as pilot_runs
from duckrow.scheduler.pilots import successors, time_left
from duckrow.scheduler.pilots.share import PilotShare
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite.database import Database
from tests.scheduler.hosts.hand_host import HandSignals, JumpingReactor
from tests.scheduler.language import fails, ignores_sigterm, runs, slots, succeeds
from tests.scheduler.pilots.test_decisions import OwnJobWithTime

HOUR_S = 3600.0
DOES = {"good": succeeds(after_s=10), "bad": fails(after_s=10), "endless": runs(), "deaf": ignores_sigterm()}


class HandTime:
    """The module `time`, by a clock that a test moves."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock

    def monotonic(self) -> float:
        return self._clock.now().mono

    def time(self) -> float:
        return self._clock.now().wall

    def sleep(self, seconds: float) -> None:
        self._clock.go_on(seconds)


class OwnJob(OwnJobWithTime):
    """A cluster job with a limit, which comes closer as time passes."""

    def __init__(self, clock: HandClock, lasts_s: float, facts: JobFacts = JobFacts("12_0")) -> None:  # noqa: B008
        super().__init__()
        self._clock, self._ends_mono = clock, clock.now().mono + lasts_s
        self.facts = facts
        self.again = 0

    def time_left_s(self) -> float | None:
        return self._ends_mono - self._clock.now().mono

    def start_again(self) -> None:
        self.again += 1


class Flight:
    """One pilot with two slots over a batch of commands."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, commands: str, lasts_s: float, **asked: Any) -> None:
        request = ClusterRequest(**asked.pop("request", {}))
        specs = [JobSpec(command, "/", gpus=0, **asked) for command in commands.split()]
        self.batch = create_batch(str(folder / "batch"), specs, range(1, len(specs) + 1), request, {}, "python3")
        self.clock = HandClock()
        self.machine = DryMachine(lambda attempt: DOES[attempt.job.name])
        self.signals = HandSignals()
        self.reactor = JumpingReactor(self.clock)
        for module in (pilot, pilot_runs, successors, time_left):
            patch.setattr(module, "time", HandTime(self.clock))
        patch.setattr(pilot, "local_host", self._local_host)
        patch.setattr(sys, "argv", ["pilot", str(folder / "batch")])
        patch.setattr(signal, "signal", lambda *_: None)
        self.own_job = OwnJob(self.clock, lasts_s)
        self.us = PilotFolder(self.batch, "12_0")
        self.began_mono = self.clock.now().mono
        offer, share = Offer(slots(2), Machine()), PilotShare(self.batch, 0)
        home = Folder(str(folder / "home"))
        self.host = PilotHost(SlurmCluster(), self.own_job, share, self.us, home, offer, None)  # type: ignore[arg-type]

    def _local_host(
        self, database: Database, host: Host, offer: Offer, _link: None, observer: Observer
    ) -> tuple[Loop, HandSignals]:
        self.database = database
        engine = DryEngine(self.machine, self.reactor)
        gpus: Any = lambda reactor: dry_reader(self.machine, reactor)  # noqa: E731
        return Loop(database, host, offer.seats, engine, self.reactor, gpus, observer, offer.machine), self.signals

    def go(self, at: dict[float, Callable[[], None]] | None = None) -> None:
        for seconds, call in (at or {}).items():
            self.reactor.later(seconds, call)
        self.host.go()

    def sends(self, number: int) -> Callable[[], None]:
        return lambda: self.signals.send(number)

    @property
    def lasted_s(self) -> float:
        return self.clock.now().mono - self.began_mono

    def outcomes(self) -> list[str | None]:
        claims = Claims(self.batch)
        claims.look()
        results = [claims.result(run) for run in range(self.batch.count)]
        return [None if result is None else result["outcome"] for result in results]

    def free(self) -> list[int]:
        claims = Claims(self.batch)
        claims.look()
        return claims.free()

    def goodbye(self) -> str:
        return str(json.loads(Path(self.us.path, "end.json").read_text())["why"])

    def orders(self) -> list[str]:
        return [f"{order.what} {order.job_id} {order.number or ''}".strip() for order in self.machine.orders]


Fly = Callable[..., Flight]


@pytest.fixture
def fly(tmp_path: Path, new_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fly]:
    made: list[Flight] = []
    shutil.copy(new_database, Folder(str(tmp_path / "home")).make().database)

    def fly(commands: str, lasts_s: float = HOUR_S, **asked: Any) -> Flight:
        made.append(Flight(tmp_path, monkeypatch, commands, lasts_s, **asked))
        return made[-1]

    yield fly
    for flight in made:
        flight.database.close()


def test_a_pilot_takes_as_many_runs_as_it_has_places_until_none_is_left(fly: Fly) -> None:
    flight = fly("good bad good")
    flight.go()
    assert flight.outcomes() == ["succeeded", "failed", "succeeded"]
    assert flight.orders() == ["start 1", "start 2", "start 3"]
    assert flight.goodbye() == "nothing left to take"
    assert not flight.host.starts_again


def test_before_the_limit_runs_are_warned_and_may_continue_until_their_grace_is_needed(fly: Fly) -> None:
    flight = fly("endless", notice_signal=SIGUSR1.value, grace_s=30.0)
    flight.go(at={HOUR_S - 120: flight.sends(SIGUSR2)})
    assert flight.orders() == ["start 1", f"notice 1 {SIGUSR1.value}", "stop 1 1"]
    assert flight.lasted_s == pytest.approx(HOUR_S - 30 - 5, abs=1.5)
    assert (flight.host.runs.interrupted, flight.goodbye()) == (TIME_LIMIT, TIME_LIMIT)
    assert (flight.outcomes(), flight.free()) == ([None], [0])
    assert flight.host.has_more()


def test_a_warning_that_comes_too_early_waits_for_its_time(fly: Fly) -> None:
    flight = fly("endless", notice_signal=SIGUSR1.value, request={"signal_delay": 100.0})
    warned: list[float] = []
    notice = flight.host.loop.engine.notice
    flight.host.loop.engine.notice = lambda *words: (warned.append(flight.lasted_s), notice(*words))  # type: ignore
    flight.go(at={HOUR_S - 160: flight.sends(SIGUSR2)})
    assert warned == [pytest.approx(HOUR_S - 100, abs=1.5)]


def test_after_the_warning_nothing_more_is_taken(fly: Fly) -> None:
    flight = fly("good good good")
    flight.go(at={5: flight.sends(SIGUSR2), 1: lambda: setattr(flight.own_job, "_ends_mono", flight.began_mono + 100)})
    assert flight.outcomes() == ["succeeded", "succeeded", None]
    assert flight.free() == [2]


def test_a_pilot_that_is_told_to_end_has_a_second_for_its_runs_and_gives_them_back(fly: Fly) -> None:
    flight = fly("deaf good good", grace_s=600.0)
    flight.go(at={5: flight.sends(SIGTERM), 5.1: flight.sends(SIGTERM)})
    assert [order for order in flight.orders() if order.endswith("stop 1 1") or " 1 " in order] == [
        "stop 1 1",
        "stop 1 2",
    ]
    assert flight.lasted_s == pytest.approx(6, abs=1)
    assert (flight.host.runs.interrupted, flight.free()) == (TOLD_TO_END, [0, 1, 2])


def test_a_pilot_says_that_it_leaves_before_it_gives_anything_back(fly: Fly, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees a run that was given back must not count on this pilot to take it."""
    flight = fly("endless")
    release, said = Claims.release, []

    def watched(claims: Claims, *about: Any) -> None:
        said.append(read_pilot(flight.batch, flight.us.name).status.get("leaving"))
        release(claims, *about)

    monkeypatch.setattr(Claims, "release", watched)
    flight.go(at={5: flight.sends(SIGTERM)})
    assert said == [TOLD_TO_END]


def test_a_run_that_somebody_wants_killed_is_and_the_wish_is_fulfilled(fly: Fly) -> None:
    flight = fly("endless good")
    wish = Path(flight.batch.wishes, "0.kill")

    def wishes() -> None:
        wish.parent.mkdir(exist_ok=True)
        wish.write_text("{}")

    flight.go(at={3: wishes})
    assert flight.outcomes() == ["killed", "succeeded"]
    assert not wish.exists()


def test_what_does_not_fit_into_its_time_is_left_and_the_pilot_starts_again(fly: Fly) -> None:
    flight = fly("good good bad", lasts_s=110.0, timeout_s=100.0, grace_s=1.0)
    flight.go()
    assert (flight.orders(), flight.free()) == (["start 1", "start 2"], [2])
    assert flight.host.starts_again
    assert flight.goodbye() == "what is left does not fit into its time"


def test_with_a_stagger_runs_start_one_after_another(fly: Fly) -> None:
    flight = fly("endless endless", request={"stagger": 20.0})
    flight.go(at={19: lambda: began.extend(flight.orders()), 25: flight.sends(SIGTERM)}) if (
        began := []
    ) == [] else None
    assert began == ["start 1"]
    assert flight.orders()[:2] == ["start 1", "start 2"]


def test_runs_of_several_nodes_are_taken_one_at_a_time(fly: Fly) -> None:
    flight = fly("good good", request={"nodes": 2})
    flight.go()
    first, second = (process.started_mono for process in flight.machine.processes.values())
    assert second >= first + 10


# -- alone ------------------------------------------------------------------------------------------------------------


def batch_of(folder: Path, **request: Any) -> Batch:
    specs = [JobSpec("good", "/", gpus=0)]
    return create_batch(str(folder / "batch"), specs, [1], ClusterRequest(**request), {}, "python3")


def test_chunks_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, runs_per_job=3, fixed_chunks=True)
    assert [chunk_of(batch, index) for index in (0, 1)] == [range(3), range(3, 6)]


def test_without_fixed_chunks_everything_may_be_taken(tmp_path: Path) -> None:
    assert chunk_of(batch_of(tmp_path, runs_per_job=3), 1) is None


def test_a_pilot_waits_for_room_on_a_full_disk_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch, tries, really = batch_of(tmp_path), [errno.ENOSPC, errno.ENOSPC], PilotFolder
    monkeypatch.setattr(pilot, "time", HandTime(HandClock()))

    def folder(*words: Any) -> PilotFolder:
        if tries:
            raise OSError(tries.pop(), "No space left on device")
        return really(*words)

    monkeypatch.setattr(pilot, "PilotFolder", folder)
    assert own_folder(batch, JobFacts("12_0")).name == "12_0.0"
    assert capsys.readouterr().err == f"{batch.folder}: No space left on device. It is retried.\n"
    tries.append(errno.EACCES)
    with pytest.raises(SystemExit, match="This pilot cannot write to "):
        own_folder(batch, JobFacts("12_0"))


def test_the_database_of_a_pilot_is_not_on_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    monkeypatch.setattr(pilot, "file_system_of", lambda path: "nfs" if path == str(far) else "ext4")
    monkeypatch.setenv("TMPDIR", str(near))
    assert Path(local_folder("12_0.0", str(far)).root).parent == near
    assert Path(local_folder("12_0.0", "").root).parent == near


@pytest.mark.parametrize(
    ("code", "restarts", "again"),
    [(137, 0, 1), (LEASE_LOST, 0, 1), (0, 0, 0), (1, 0, 0), (128, 0, 0), (137, 2, 0), (137, 1, 1)],
)
def test_a_pilot_that_was_killed_starts_again_but_not_for_ever(
    tmp_path: Path, code: int, restarts: int, again: int
) -> None:
    own_job = OwnJob(HandClock(), HOUR_S, JobFacts("12_0", restarts=restarts))
    _if_killed(code, batch_of(tmp_path, max_interruptions=2), own_job)
    assert own_job.again == again
