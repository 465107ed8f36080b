"""What the contract of an engine is tested on: the engine, a reactor for it, and attempts that do what a test needs.

A new engine gets a harness here, and its name in `HARNESSES`.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import cpu_seats
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Engine, Reactor, Report, Started, StartOrder
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.reactor import HandReactor
from duckrow.engines.dry.turning import Turning
from duckrow.engines.local.engine import LocalEngine
from duckrow.engines.local.keeper.keeper import fork_host
from duckrow.kernel.process import children_of, identity_of, signal_process
from duckrow.scheduler.reactor import EpollReactor
from tests.conftest import DEADLINE_S, until
from tests.core.language import job
from tests.engines.thread_engine import ThreadEngine

# What attempts do: as a command, and as the dry engine is told.
DOES: dict[str, tuple[str, Behaviour]] = {
    "exits with 0": ("true", Behaviour(runs_s=0.1)),
    "exits with 3": ("exit 3", Behaviour(runs_s=0.1, exit_code=3)),
    "dies of SIGSEGV": ("kill -SEGV $$", Behaviour(runs_s=0.1, signal=signal.SIGSEGV)),
    "runs": ("echo ready; exec sleep 600", Behaviour(runs_s=math.inf)),
    "waits for a signal": (
        "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done",
        Behaviour(runs_s=math.inf, exits_on=((signal.SIGUSR1, 5),)),
    ),
    "ends well when asked": (
        "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done",
        Behaviour(runs_s=math.inf, stop_exit_code=0),
    ),
    "ignores SIGTERM": (
        "trap '' TERM; echo ready; while :; do sleep 0.01; done",
        Behaviour(math.inf, stops_after_s=None),
    ),
    "leaves a helper": ("sleep 600 & exit 0", Behaviour(runs_s=0.1, leaves_s=math.inf)),
    "cannot start": ("true", Behaviour(refusal="No such file or directory: /nowhere")),
    "prints": ("echo hello", Behaviour(runs_s=0.1, prints="hello\n")),
}


class Life:
    """An engine in one life of its host."""

    def __init__(
        self, engine: Engine, reactor: Reactor, folder: str, wait: Callable[[], None], prints_ready: bool = True
    ) -> None:
        """`prints_ready`: an attempt that listens for signals says so in its log."""
        self.engine = engine
        self._prints_ready = prints_ready
        self._reactor = reactor
        self._folder = folder
        self._wait = wait
        self.seen: list[Report] = []
        self.attempts: list[LiveAttempt] = []

    def order(self, does: str, follows: LiveAttempt | None = None, job_id: int | None = None) -> StartOrder:
        number = job_id or len(self.attempts) + 1
        folder = f"{self._folder}/runs/{number}"
        attempt = LiveAttempt(
            number=1,
            job=job(
                id=number,
                command=DOES[does][0],
                name=does,
                cwd="/nowhere" if does == "cannot start" else "/",
            ),
            keeper=self.engine.keeper,
            holds=cpu_seats(1)[0].holds,
            started=self._reactor.now(),
            log=f"{folder}/attempt-1.log",
            job_host_id=1,
        )
        attempt.follows = None if follows is None else follows.id
        self.attempts.append(attempt)
        return StartOrder(attempt, folder, {})

    def start(self, does: str) -> LiveAttempt:
        order = self.order(does)
        self.engine.start([order])
        return order.attempt

    def begin(self, does: str) -> LiveAttempt:
        """Start it, and wait until it listens."""
        attempt = self.start(does)
        attempt.has_process(*self.wait_for(Started, attempt)[1:])
        if self._prints_ready:
            until(lambda: os.path.exists(attempt.log) and "ready" in Path(attempt.log).read_text(), "its first word")
        return attempt

    def now(self) -> Now:
        return self._reactor.now()

    def wait_for(self, what: type[Any], attempt: LiveAttempt) -> Any:
        """The report of this kind about this attempt."""
        end = time.monotonic() + DEADLINE_S
        while not (found := [each for each in self.about(attempt) if isinstance(each, what)]):
            assert time.monotonic() < end, f"no {what.__name__}, only {self.seen}"
            self._wait()
            self._take()
        return found[0]

    def about(self, attempt: LiveAttempt) -> list[Report]:
        """All that was reported of it so far, as the loop would hear it."""
        self._take()
        return [report for report in self.seen if report.attempt_id == attempt.id]

    def _take(self) -> None:
        for report in self.engine.reports():
            self.seen.append(report)


Body = Callable[[Life], Any]


class Harness(Protocol):
    """Begins an engine again and again, as one host after the other does."""

    outlives_its_host: bool  # attempts go on when their host has died

    def __init__(self, folder: Path) -> None: ...

    def life(self, body: Body) -> Any:
        """One life, which ends as if killed when the body has returned; what that returns."""

    def close(self) -> None: ...


class DryHarness:
    outlives_its_host = True

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._clock = HandClock()
        self._machine = DryMachine(lambda attempt: DOES[attempt.job.name][1])

    def life(self, body: Body) -> Any:
        reactor = HandReactor(self._clock)
        turning = Turning(self._clock)
        turning.add(reactor, lambda: reactor.wait(None))

        in_vain = 0

        def wait() -> None:
            nonlocal in_vain
            in_vain = 0 if turning.next_thing() else in_vain + 1
            assert in_vain < 3, "nothing more will ever happen"

        try:
            return body(Life(DryEngine(self._machine, reactor), reactor, self._folder, wait, prints_ready=False))
        finally:
            reactor.close()

    def close(self) -> None: ...


class LocalHarness:
    """Each life is a process of its own, with its keeper: as it is when duckrow runs."""

    outlives_its_host = True

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._keepers = f"{folder}/keepers"
        os.mkdir(self._keepers)
        self._children: list[int] = []

    def life(self, body: Body) -> Any:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            link = fork_host(self._keepers, speaks=False)
            _live_and_die(lambda: self._begin(link), body, writing)
        os.close(writing)
        self._children.append(pid)
        with open(reading, "rb") as told:
            return _told(told.read())

    def _begin(self, link: Any) -> Life:
        reactor = EpollReactor()
        engine = LocalEngine(reactor, self._keepers, link, lambda _: dict(os.environ))
        engine.begin(set(os.listdir(self._keepers)), lambda: None)
        return Life(engine, reactor, self._folder, lambda: reactor.wait(DEADLINE_S))

    def close(self) -> None:
        """Keepers end with the last of their attempts, so those end first: a test that failed may have left some."""
        for pid in self._children:
            until(lambda: self._is_over(pid), "the end of a keeper")  # noqa: B023 - called at once

    @staticmethod
    def _is_over(keeper: int) -> bool:
        for attempt in children_of(keeper):
            signal_process(identity_of(attempt), signal.SIGKILL)
        return os.waitpid(keeper, os.WNOHANG)[0] != 0


class ThreadHarness:
    outlives_its_host = False

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def life(self, body: Body) -> Any:
        reactor = EpollReactor()
        try:
            return body(Life(ThreadEngine(reactor), reactor, self._folder, lambda: reactor.wait(DEADLINE_S)))
        finally:
            reactor.close()

    def close(self) -> None: ...


def _live_and_die(make: Callable[[], Life], body: Body, writing: int) -> None:
    try:
        said = (body(make()), "")
    except BaseException:  # it must not go on as a second pytest
        said = (None, traceback.format_exc())
    with open(writing, "wb") as told:
        told.write(pickle.dumps(said))
    os._exit(0)


def _told(data: bytes) -> Any:
    assert data, "the host died before it could tell anything"
    result, fault = pickle.loads(data)
    assert not fault, fault
    return result


HARNESSES: dict[str, type[Harness]] = {
    "local": LocalHarness,
    "dry": DryHarness,
    "threads": ThreadHarness,
}
