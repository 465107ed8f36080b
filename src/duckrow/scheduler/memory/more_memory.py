"""Retries failures that say what to change: out of memory with more memory, a failure of MPS without MPS."""

from __future__ import annotations

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Needs, needs_from, with_margin
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.memory.more_memory import RanOut, next_host_needs, next_needs
from duckrow.core.memory.mps_failures import mps_failure
from duckrow.core.memory.out_of_memory import memory_wanted_mb, ran_out_of_memory, was_killed
from duckrow.core.memory.prediction import leaves_room
from duckrow.core.memory.use import Use
from duckrow.core.ports import Engine
from duckrow.core.units import format_mb
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines
from duckrow.scheduler.devices.mps_sharing import MpsSharing
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.jobs.queue import QueueStore

_LINES = 200


class MemoryRetries:
    def __init__(self, state: HostState, store: QueueStore, engine: Engine, watch: Watch, sharing: MpsSharing) -> None:
        self._state = state
        self._store = store
        self._engine = engine
        self._watch = watch
        self._sharing = sharing

    def after(self, attempt: LiveAttempt, outcome: Outcome, use: Use | None) -> Verdict | None:
        """The verdict on an attempt that ran out of memory or failed because of MPS; None for all others."""
        if outcome is Outcome.OUT_OF_MEMORY:
            return self._after_giving_way(attempt, use)
        asked_for = attempt.stopped_for is not None
        if outcome not in (Outcome.FAILED, Outcome.KILLED) or asked_for:
            return None
        lines = last_lines(attempt.log, _LINES, longest=LINE_SHOWN) if attempt.log else []
        killed = was_killed(attempt.exit_code, attempt.signal)
        on_machine = self._engine.ran_out_of_memory(attempt) if killed else None  # perhaps another program was killed
        of_job = None if attempt.end is None else attempt.end.oom_killed
        oom_killed = on_machine if of_job is None else of_job
        which = ran_out_of_memory(lines, attempt.exit_code, attempt.signal, oom_killed)
        if which is None:
            return self._after_mps(attempt, outcome, lines)
        needs = needs_from(attempt.job.needs)
        if which == "host":
            learned = next_host_needs(needs, self._state.gpus.machine.mem_mb)
            told = "ran out of main memory"
        else:
            ending = self._ending(attempt, use, memory_wanted_mb(lines, use.peak_mb if use else 0))
            learned = next_needs(needs, ending)
            self._watch.learning.from_failure(attempt, max(ending.peak_mb, ending.wanted_mb))
            told = "ran out of GPU memory"
        if learned is None:
            return Verdict(Outcome.OUT_OF_MEMORY, again=False, detail=f"{told}, {self._why_final(which, attempt)}")
        self._store.set_needs(attempt.job.id, learned)
        return Verdict(Outcome.OUT_OF_MEMORY, again=True, detail=f"{told}; retried {_how(learned, which)}")

    def _after_giving_way(self, attempt: LiveAttempt, use: Use | None) -> Verdict:
        """It took far more than it had reserved, and was stopped to protect others. Next time it gets what it needs."""
        needs, peak_mb = needs_from(attempt.job.needs), use.peak_mb if use else 0
        if use is not None and self._watch.learning.is_new(attempt) and not self._state.gpus.machine.policy.enforce:
            return self._after_growing(attempt, use)
        mb = max(with_margin(peak_mb), needs.gpu_mem_mb or 0)
        fits = leaves_room(mb, self._state.gpus.given_out.largest_mb(len(attempt.holds)))
        learned = needs._replace(gpu_mem_mb=mb if fits else None, alone=not fits)
        self._watch.learning.from_failure(attempt, peak_mb)
        self._store.set_needs(attempt.job.id, learned)
        detail = f"used {format_mb(peak_mb)}, far more than it had reserved; requeued {_how(learned, 'gpu')}"
        return Verdict(Outcome.OUT_OF_MEMORY, again=True, detail=detail)

    def _after_growing(self, attempt: LiveAttempt, use: Use) -> Verdict:
        """It stopped before it ran out of memory. It asks for what it wanted next, until others tell better.

        Only what it has used is known, and learned: that it would have grown again is a guess.
        """
        needs = needs_from(attempt.job.needs)
        ending = self._ending(attempt, use, use.peak_mb + use.last_growth_mb)
        learned = next_needs(needs, ending) or needs
        learned = learned._replace(ran_out_mb=max(needs.ran_out_mb, use.peak_mb))
        self._watch.learning.from_failure(attempt, use.peak_mb)
        self._store.set_needs(attempt.job.id, learned)
        detail = f"gave way to others that grow, too; retried {_how(learned, 'gpu')}"
        return Verdict(Outcome.OUT_OF_MEMORY, again=True, detail=detail)

    def _after_mps(self, attempt: LiveAttempt, outcome: Outcome, lines: list[str]) -> Verdict | None:
        """If it failed because of the MPS that we started, retry it without. That uses up none of its retries."""
        why = mps_failure(lines)
        if why is None or not self._sharing.failed(attempt, why):
            return None
        return Verdict(outcome, again=True, detail=f"{why}; retried without MPS")

    def _ending(self, attempt: LiveAttempt, use: Use | None, wanted_mb: int | None) -> RanOut:
        gpus = attempt.gpus
        total = self._state.gpus.smallest_mb(gpus)
        share = min((share for _, share in attempt.holds), default=WHOLE)
        held_mb = None if total is None else total * share // WHOLE
        alone = share == WHOLE
        largest = self._state.gpus.given_out.largest_mb(len(gpus))
        everything = self._state.gpus.given_out.all_mb()
        foreign = max((self._watch.foreign_mb(gpu) for gpu in gpus), default=0)
        peak_mb = use.peak_mb if use else 0
        seen = self._watch.learning.seen_above(attempt, held_mb or 0)
        return RanOut(held_mb, peak_mb, wanted_mb or 0, alone, total, largest, foreign, everything, seen)

    def _why_final(self, which: str, attempt: LiveAttempt) -> str:
        if which == "host":
            return "and there is no more here"
        size_mb = self._state.gpus.smallest_mb(attempt.devices)
        size = f" of {format_mb(size_mb)}" if size_mb is not None else ""
        gpus = attempt.gpus
        return f"alone on GPU {','.join(gpus)}{size}: there is no larger one" if gpus else "and has no GPU"


def _how(needs: Needs, which: str) -> str:
    if which == "host":
        return f"with {format_mb(needs.mem_mb or 0)}"
    if needs.larger_than_mb:
        return f"on a GPU of more than {format_mb(needs.larger_than_mb)}"
    if needs.alone:
        return f"on a GPU that has {format_mb(needs.gpu_mem_mb)} free" if needs.gpu_mem_mb else "with a GPU to itself"
    if needs.total_gpu_mem_mb is not None:
        return f"with {format_mb(needs.total_gpu_mem_mb)} in total"
    return f"with {format_mb(needs.gpu_mem_mb)}" if needs.gpu_mem_mb else "with as much as similar jobs take"
