"""`duckrow`, typed in this process, with a daemon that runs no process and a clock turned by hand.

The command line, the database and the scheduler's loop are the real ones. A command takes milliseconds, and a job as
long as its command says, on a clock that goes on only when somebody waits:

    def test_a_failed_job_says_so(duckrow: DryDuckrow) -> None:
        duckrow.up("--slots", "1")
        job = duckrow.submit("sleep 600; exit 3")
        assert duckrow("wait", str(job), ok=False).returncode == 3

`duckrow run` and `duckrow sweep --run` turn their own loop, and are over when the command is. What happens meanwhile,
in another terminal or by a signal, is said before:

    duckrow.after(60, lambda: duckrow("kill", "1"))
    duckrow.after(90, lambda: duckrow.signal(SIGINT))
    duckrow("run", "--slots", "2", stdin="sleep 600\n" * 2, ok=False)
"""

from __future__ import annotations

import gc
import heapq
import io
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duckrow.api import session
from duckrow.api.client import Client
from duckrow.api.machine.daemon import running_daemon
from duckrow.cli.main import run_cli
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.gpus import dry_reader
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.reactor import HandReactor
from duckrow.engines.dry.turning import Turning
from duckrow.scheduler.hosts import background, daemon, run_host, run_session
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostRow
from duckrow.store.sqlite.database import Database
from tests.cli.typed.shell import played
from tests.scheduler.hosts.hand_host import HandSignals

_MOST_STEPS = 20_000  # of the clock while somebody waits: more means that they wait in vain
_MOST_IN_VAIN = 3


class DryDuckrow:
    def __init__(self, home: Path, work: Path, gpus_mb: Mapping[str, int] | None = None) -> None:
        """`gpus_mb`: the memory of the GPUs that can be read."""
        self.home = home
        self.work = work
        self.clock = HandClock()
        self.machine = DryMachine(self._behaviour, gpus_mb)
        self._turning = Turning(self.clock)
        self._began_mono = self.clock.now().mono
        self._does: dict[str, list[Behaviour]] = {}
        self._commands: dict[int, str] = {}  # of each attempt
        self._open_gates: set[str] = set()
        self._host: DryHost | None = None
        self._signals = HandSignals()  # of the active run
        self._planned: list[tuple[float, int, Callable[[], Any]]] = []
        self._numbers = itertools.count()
        self._in_vain = 0  # how often a run that has nothing to wait for has waited
        self._lists: list[int] = []  # files of commands, which a run leaves open to its end

    # -- typing -----------------------------------------------------------------------------------------------

    def __call__(
        self, *words: str, stdin: str | bytes = "", ok: bool = True, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; `ok`: it must succeed. What the daemon can do at once, it has done by then."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        data = stdin.encode() if isinstance(stdin, str) else stdin
        open_before = len(self._lists)
        with _file_of(data) as typed_in, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", typed_in)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(gc, "freeze", lambda: None)  # what is garbage here is not what is garbage there
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = run_cli(list(words))
        while len(self._lists) > open_before:
            os.close(self._lists.pop())
        gc.enable()
        self.settle()
        stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
        assert not ok or code == 0, f"{words}: exit {code}\n{stdout}\n{stderr}"
        return subprocess.CompletedProcess(words, code, stdout, stderr)

    def up(self, *words: str) -> None:
        self("up", *words)

    def submit(self, *words: str) -> int:
        return int(self("submit", *words).stdout)

    # -- what jobs do -----------------------------------------------------------------------------------------

    def does(self, command: str, *behaviours: Behaviour) -> None:
        """What the attempts at this command do, the last again and again; else what a shell would."""
        self._does[command] = list(behaviours)

    def _behaviour(self, attempt: LiveAttempt) -> Behaviour:
        known = self._does.get(attempt.job.command)
        self._commands[attempt.id] = attempt.job.command
        if known is None:
            return played(attempt.job.command, self._open_gates)
        return known.pop(0) if len(known) > 1 else known[0]

    def open_gate(self, name: str = "gate") -> None:
        """What runs until then, and what starts later, ends."""
        self._open_gates.add(name)
        for attempt_id, command in self._commands.items():
            if command.startswith(f"gate {name}"):
                end = played(command, self._open_gates)
                self.machine.processes[attempt_id].end(self.clock.now().mono + end.runs_s, end.exit_code, end.signal)
                if self._host is not None:
                    self._host.engine.look(attempt_id)
        self.settle()

    # -- a run ------------------------------------------------------------------------------------------------

    def after(self, seconds: float, call: Callable[[], Any]) -> None:
        """What happens, so long from now, while a run is active."""
        heapq.heappush(self._planned, (self.clock.now().mono + seconds, next(self._numbers), call))

    def signal(self, number: int) -> None:
        """To the active run."""
        self._signals.send(number)

    def _run_host(
        self, database: Database, host: Host, offer: Offer, _link: None, observer: Observer, _output: str
    ) -> tuple[Loop, HandSignals]:
        """Where a run would have a keeper and processes."""
        reactor = HandReactor(self.clock)
        engine = DryEngine(self.machine, reactor)
        gpus = lambda reactor: dry_reader(self.machine, reactor)  # noqa: E731
        loop = Loop(database, host, offer.seats, engine, reactor, gpus, observer, offer.machine)
        really_turn, really_close = loop.turn, loop.close

        def turn(at_most_s: float | None = None) -> None:
            really_turn(at_most_s)
            if reactor.rests_until is not None:
                self._go_on()

        def close() -> None:
            self._turning.remove(reactor)
            really_close()
            database.close()

        vars(loop).update(turn=turn, close=close)
        self._turning.add(reactor, really_turn)  # so that it hears what is typed meanwhile
        self._signals = HandSignals()
        return loop, self._signals

    def _go_on(self) -> None:
        """Nothing is to be done now: go to the next moment at which there is."""
        planned_mono = self._planned[0][0] if self._planned else math.inf
        due_mono = min(self._turning.settle(), planned_mono)
        self._in_vain = self._in_vain + 1 if due_mono == math.inf else 0
        assert self._in_vain < _MOST_IN_VAIN, "the run would wait for ever"
        if due_mono == math.inf:
            return  # it may be over, and has not been asked
        self.clock.go_to(max(due_mono, self.clock.now().mono))
        if due_mono == planned_mono:
            heapq.heappop(self._planned)[2]()

    def _open_source(self, source: str) -> int | None:
        fd = _open_source(source)
        if source and fd is not None:
            self._lists.append(fd)
        return fd

    # -- time -------------------------------------------------------------------------------------------------

    def passes(self, seconds: float) -> None:
        self._turning.advance(seconds)
        self.settle()

    def settle(self) -> None:
        """All is done that can be done now."""
        self._turning.settle()

    def wait_for(self, job_id: int, *states: str) -> None:
        for _ in range(_MOST_STEPS):
            self.settle()
            if self.state(job_id) in states:
                return
            assert self._turning.next_thing(), f"job {job_id} is {self.state(job_id)} for ever, not {states}"
        raise AssertionError(f"job {job_id} is {self.state(job_id)}, not {states}")

    def _changes(self, client: Client, deadline: float | None) -> Iterator[None]:
        """As a client's own: it yields at each change and at the deadline. The clock goes on meanwhile."""
        for _ in range(_MOST_STEPS):
            client.has_news()
            yield
            due_mono = self._turning.settle()
            if client.has_news():
                continue
            left_s = float("inf") if deadline is None else deadline - time.monotonic()
            if due_mono - self.clock.now().mono > left_s:
                self._turning.advance(max(left_s, 0.0))
            else:
                assert self._turning.next_thing(), "it would wait for ever"
        raise AssertionError("it waits in vain")

    def _monotonic(self) -> float:
        """The real clock counts too, so that a wait with a deadline ends."""
        return _monotonic() + self.clock.now().mono - self._began_mono

    # -- looking ----------------------------------------------------------------------------------------------

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        database = Database(Folder(str(self.home)))
        try:
            with database.transaction():
                return [tuple(row) for row in database.all(statement, values)]
        finally:
            database.close()

    def state(self, job_id: int) -> str:
        """The state, or the outcome once it is done; straight from the database."""
        rows = self.sql("SELECT coalesce(outcome, state) FROM jobs WHERE id = ?", job_id)
        return str(rows[0][0]) if rows else ""

    def job(self, job_id: int) -> dict[str, Any]:
        view: dict[str, Any] = json.loads(self("show", str(job_id), "--json").stdout)[0]
        return view

    # -- the daemon -------------------------------------------------------------------------------------------

    @contextmanager
    def in_place(self, patch: pytest.MonkeyPatch) -> Iterator[DryDuckrow]:
        """From here on, `duckrow` is this one, and what it would start a process for happens here."""
        self.work.mkdir(exist_ok=True)
        patch.chdir(self.work)
        for name, value in {"DUCKROW_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "160"}.items():
            patch.setenv(name, value)
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        patch.setattr(time, "time", lambda: self.clock.now().wall)
        patch.setattr(time, "monotonic", self._monotonic)
        patch.setattr(time, "sleep", self.passes)
        patch.setattr(time, "clock_gettime", self._clock_gettime)
        patch.setattr(Client, "changes", lambda client, deadline: self._changes(client, deadline))
        patch.setattr(background, "_start", self._start)
        patch.setattr(background, "fork_host", lambda *_words, **_more: None)
        patch.setattr(background, "serve", self._serve)
        patch.setattr(background, "_make_room", self._make_room)
        patch.setattr(run_session, "fork_host", lambda *_words, **_more: _NO_KEEPER)
        patch.setattr(run_host, "local_host", self._run_host)
        patch.setattr(gc, "freeze", lambda: None)  # it is not a process of its own: what tests leave is garbage
        patch.setattr(run_session, "_open_source", self._open_source)
        patch.setattr(session, "ensure_daemon", self._ensure_daemon)
        patch.setattr(session, "settle", self._settle)
        patch.setattr(session, "end_daemon", self._end_daemon)
        yield self
        self.die()

    def _clock_gettime(self, which: int) -> float:
        return self.clock.now().boot if which == time.CLOCK_BOOTTIME else _clock_gettime(which)

    def _start(self, _folder: Folder, words: Sequence[str], _python: str) -> tuple[bytes, str, int]:
        """Where a process would begin."""
        reading, writing = os.pipe()
        done = self("up", "--foreground", "--ready-fd", str(writing), *words, ok=False)
        if done.returncode:
            os.close(writing)
        with open(reading, "rb") as file:
            return file.read(), done.stderr.strip().removeprefix("duckrow: "), done.returncode

    def _serve(
        self, folder: Folder, offer: Offer, _link: None, ready: Callable[[], None], settles: bool, *_more: Any
    ) -> None:
        host = self._host = DryHost(folder, offer, self.machine, self.clock)
        host.loop.host.rows.note_settling(settles)
        host.loop.state.dispatch(not settles)
        self._turning.add(host.reactor, self._turn_settling if settles else host.loop.turn)
        ready()

    def _turn_settling(self, at_most_s: float | None = None) -> None:
        assert self._host is not None
        self._host.loop.turn(at_most_s)
        if daemon._has_settled(self._host.loop):
            self._end_host()

    def _ensure_daemon(self, folder: Folder, database: Database) -> bool:
        if running_daemon(folder, database) is not None:
            return False
        self("up", "--quiet")
        return True

    def _settle(self, folder: Folder, database: Database) -> None:
        if running_daemon(folder, database) is None:
            self("up", "--quiet", "--settle")

    def _end_daemon(self, folder: Folder, database: Database, kill_jobs: bool = False) -> HostRow | None:
        row = running_daemon(folder, database)
        if self._host is not None:
            if kill_jobs:
                self._host.loop.state.dispatch(False)
                self._host.loop.state.end_all()
                while self._host.loop.state.live:
                    self._turning.next_thing()
            self._end_host()
        return row

    def _make_room(self, _folder: Folder) -> None:
        if self._host is not None:
            self._end_host()

    def _end_host(self) -> None:
        assert self._host is not None
        self._turning.remove(self._host.reactor)
        self._host.close()
        self._host = None

    def die(self) -> None:
        """The daemon is killed. Running jobs keep running."""
        if self._host is not None:
            self._turning.remove(self._host.reactor)
            self._host.die()
            self._host = None


@contextmanager
def _file_of(data: bytes) -> Iterator[io.TextIOWrapper]:
    """A real one: whoever reads commands as they come wants a file number."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield io.TextIOWrapper(file, "utf-8")


_NO_KEEPER = SimpleNamespace(journal=SimpleNamespace(remove=lambda: None))
_monotonic, _clock_gettime, _open_source = time.monotonic, time.clock_gettime, run_session._open_source
