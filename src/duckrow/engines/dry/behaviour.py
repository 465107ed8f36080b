"""What an attempt does when nothing really runs: how long it takes, how it ends, what it holds meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from duckrow.core.jobs.job import LiveAttempt


class Behaviour(NamedTuple):
    runs_s: float = 1.0
    exit_code: int | None = 0
    signal: int | None = None  # by which it ends, where it has no exit code
    stops_after_s: float | None = 0.0  # after SIGTERM; None: it does not listen
    stop_exit_code: int | None = None  # with which it ends then; None: it dies of the signal
    exits_on: tuple[tuple[int, int], ...] = ()  # (signal, exit code): other signals that end it
    leaves_s: float = 0.0  # how long a process of it stays after its end, unless it is stopped
    prints: str = ""  # into its log, at its end
    gpu_mb: tuple[tuple[float, int], ...] = ()  # (seconds after its start, MB from then on), on each of its GPUs
    uses: tuple[str, ...] | None = None  # the GPUs on which it takes that; None: those that it was given
    oom_killed: bool | None = None  # what the kernel says of it at its end
    host_peak_mb: int | None = None
    starts_after_s: float = 0.0  # until then it is ordered, and not there to hear anything
    refusal: str = ""  # why it cannot be started
    try_later: bool = False  # and it is the machine's fault, not the job's

    def mb_after(self, seconds: float) -> int:
        """What it takes of each of its GPUs by then."""
        return next((mb for since_s, mb in reversed(self.gpu_mb) if since_s <= seconds), 0)


FOR_EVER = Behaviour(runs_s=math.inf)

BehaviourOf = Callable[[LiveAttempt], Behaviour]
