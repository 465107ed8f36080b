"""A machine where nothing runs. Its simulated processes outlive the engine that started them, as real ones do."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import CoreTime, Health
from duckrow.engines.dry.behaviour import Behaviour, BehaviourOf

_FIRST_PID = 1 << 23  # higher than any PID of Linux, so never a real process


OwnersOf = Callable[[Collection[int]], Mapping[int, int]]
"""The attempts to which processes belong, as `Engine.owners_of` counts them."""


class Order(NamedTuple):
    """What the scheduler has asked an engine to do."""

    what: str  # start, line-up, stand-down, stop, notice, signal, adopt
    job_id: int
    number: int = 0  # of the step, or of the signal


@dataclass
class DryProcess:
    attempt_id: int
    pid: int
    behaviour: Behaviour
    gpus: tuple[str, ...]
    started_mono: float
    ends_mono: float
    gone_mono: float  # when nothing of it is left
    exit_code: int | None
    signal: int | None
    log: str
    suspended_mono: float | None = None
    is_lost: bool = False  # nobody saw how it ended
    heard: list[int] = field(default_factory=list)  # signals

    @property
    def name(self) -> str:
        return f"{self.pid}:dry"

    def has_ended(self, mono: float) -> bool:
        return self.suspended_mono is None and mono >= self.ends_mono

    def is_gone(self, mono: float) -> bool:
        return self.suspended_mono is None and mono >= self.gone_mono

    def suspend(self, mono: float) -> None:
        if self.suspended_mono is None:
            self.suspended_mono = mono

    def resume(self, mono: float) -> None:
        if self.suspended_mono is not None:
            lasted_s, self.suspended_mono = mono - self.suspended_mono, None
            self.ends_mono += lasted_s
            self.gone_mono += lasted_s

    def ask_to_end(self, mono: float) -> None:
        """Send SIGTERM to all of it."""
        after_s = self.behaviour.stops_after_s
        if after_s is None:
            return
        code = self.behaviour.stop_exit_code
        self.end(mono + after_s, code, SIGTERM if code is None else None)
        self.gone_mono = min(self.gone_mono, max(self.ends_mono, mono + after_s))

    def kill(self, mono: float) -> None:
        self.suspended_mono = None
        self.end(mono, None, SIGKILL)
        self.gone_mono = min(self.gone_mono, mono)

    def end(self, mono: float, exit_code: int | None, signal: int | None) -> None:
        if mono < self.ends_mono:
            self.ends_mono, self.exit_code, self.signal = mono, exit_code, signal
        self.gone_mono = min(self.gone_mono, mono + self.behaviour.leaves_s)


class DryMachine:
    def __init__(self, behaviour_of: BehaviourOf, gpus_mb: Mapping[str, int] | None = None) -> None:
        """`gpus_mb`: the memory of its GPUs that can be read."""
        self.behaviour_of = behaviour_of
        self.gpus_mb = dict(gpus_mb or {})
        self.foreign_mb: dict[str, int] = {}  # what others use of them
        self.strangers_mb: dict[str, dict[int, int]] = {}  # further use by others, by process, as the driver shows it
        self.owners_elsewhere: OwnersOf = lambda pids: {}  # real processes, where the GPUs are real ones
        self.busy: dict[str, int] = {}  # percent; GPUs not in here are fully busy while something runs on them
        self.health: dict[str, Health] = {}  # of those that are not healthy
        self.processes: dict[int, DryProcess] = {}  # by attempt
        self.orders: list[Order] = []  # all that engines were asked to do
        self.ran_out_of_memory: bool | None = False
        self.core_time: CoreTime | None = None
        self._pids = itertools.count(_FIRST_PID)
        self._keepers = itertools.count(1)

    def new_keeper(self) -> str:
        return f"dry-{os.getpid()}-{next(self._keepers)}"

    def start(self, attempt: LiveAttempt, behaviour: Behaviour, now: Now) -> DryProcess:
        ends_mono = now.mono + behaviour.runs_s
        process = self.processes[attempt.id] = DryProcess(
            attempt_id=attempt.id,
            pid=next(self._pids),
            behaviour=behaviour,
            gpus=tuple(name for name in behaviour.uses or dict(attempt.holds) if name in self.gpus_mb),
            started_mono=now.mono,
            ends_mono=ends_mono,
            gone_mono=ends_mono + behaviour.leaves_s,
            exit_code=None if behaviour.signal else behaviour.exit_code,
            signal=behaviour.signal,
            log=attempt.log,
        )
        return process

    def signal(self, attempt_id: int, number: int, mono: float) -> None:
        process = self.processes.get(attempt_id)
        if process is None:
            return
        process.heard.append(number)
        if number == SIGKILL:
            process.kill(mono)
        elif number == SIGTERM:
            process.ask_to_end(mono)
        elif number == SIGSTOP:
            process.suspend(mono)
        elif number == SIGCONT:
            process.resume(mono)
        elif number in dict(process.behaviour.exits_on):
            process.end(mono, dict(process.behaviour.exits_on)[number], None)

    def lose(self, attempt_id: int, mono: float) -> None:
        """Its process ends while nobody is watching."""
        process = self.processes[attempt_id]
        process.kill(mono)
        process.is_lost = True
