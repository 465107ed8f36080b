"""What an attempt of the dry engine does: how long it takes, how it ends, what it uses meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.named_tuple import NamedTuple


class Behaviour(NamedTuple):
    runs_s: float = 1.0
    exit_code: int | None = 0
    signal: int | None = None  # the signal that ends it, if it has no exit code
    stops_after_s: float | None = 0.0  # after SIGTERM; None: it ignores SIGTERM
    stop_exit_code: int | None = None  # its exit code then; None: the signal kills it
    exits_on: tuple[tuple[int, int], ...] = ()  # (signal, exit code): other signals that end it
    leaves_s: float = 0.0  # how long one of its processes stays after its end, unless it is stopped
    prints: str = ""  # written into its log at its end
    gpu_mb: tuple[tuple[float, int], ...] = ()  # (seconds after its start, MB from then on), on each of its GPUs
    uses: tuple[str, ...] | None = None  # the GPUs on which it uses that; None: those that it was given
    oom_killed: bool | None = None  # what the kernel says at its end
    host_peak_mb: int | None = None
    starts_after_s: float = 0.0  # until then it is ordered, and cannot receive signals
    refusal: str = ""  # why it cannot be started
    try_later: bool = False  # the machine is at fault, not the job

    def mb_after(self, seconds: float) -> int:
        """How much memory it uses on each of its GPUs by then."""
        return next((mb for since_s, mb in reversed(self.gpu_mb) if since_s <= seconds), 0)


FOR_EVER = Behaviour(runs_s=math.inf)

BehaviourOf = Callable[[LiveAttempt], Behaviour]
