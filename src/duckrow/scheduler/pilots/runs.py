"""The runs of a pilot: it claims them in the batch's folder, gives them to the loop, and writes their results."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckrow.clusters.batch import BatchRun
from duckrow.clusters.claims import Claims, Taker
from duckrow.clusters.port import Cluster
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import ask_of
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import KILLING_SIGNALS, Outcome, State
from duckrow.core.life.wishes import kill_wish
from duckrow.core.schedule.placement import refusal
from duckrow.scheduler.loop import Loop
from duckrow.store.jobs.history import JobStoryStore
from duckrow.store.jobs.jobs import JobStore

# SLURM signals all processes of a job, in any order. If a signal ended a run, we wait this long for one of our own.
_AMBIGUOUS_S = 1.0
_LOOK_S = 2.0  # how often to check for runs that others gave back, once there is nothing to take
_SHELLS_KILLED = tuple(128 + number for number in KILLING_SIGNALS)


@dataclass
class Taken:
    run: BatchRun
    claim: int
    retries_used: int
    wanted_dead: bool = False
    not_before_boot: float = 0.0  # it waits for a retry until this time since boot
    ended: dict[str, Any] | None = None  # how it ended, until that is written
    write_at: float = 0.0


class PilotRuns:
    def __init__(
        self,
        cluster: Cluster,
        claims: Claims,
        taker: Taker,
        loop: Loop,
        environment: Mapping[str, str],
        about_us: Mapping[str, Any],
        quota: int | None,
    ) -> None:
        self._cluster = cluster
        self.claims = claims
        self.batch = claims.batch
        self.taken: dict[int, Taken] = {}  # by the ids of their jobs
        self.count = 0
        self.quota = quota
        self.interrupted = ""  # why we must leave: runs that end now did not end by themselves
        self._taker = taker
        self._loop = loop
        self._jobs = JobStore(loop.database)
        self._environment = environment
        self._about_us = {"pilot": about_us["pilot"], "node": about_us["node"]}
        self._look_at = 0.0
        self.cannot_write = False  # the last result could not be written
        self._known: set[int] = set()  # runs that the loop has had before

    # -- taking -----------------------------------------------------------------------------------------------

    @property
    def busy(self) -> int:
        """How many runs are running, or about to."""
        boot = self._loop.reactor.now().boot
        return sum(t.ended is None and t.not_before_boot <= boot for t in self.taken.values())

    @property
    def may_take(self) -> bool:
        return not self.interrupted and (self.quota is None or self.count < self.quota)

    def take(self, most: int) -> bool:
        """Claim up to `most` runs, and give them to the loop; False if there were none."""
        if self.cannot_write:
            return True  # write the results of ended runs before taking more
        if time.monotonic() < self._look_at:
            return False
        fresh: list[tuple[int, int]] = []
        while len(fresh) < most and self.may_take:
            found = self._taker.next()
            if found is None:
                self._look_at = time.monotonic() + _LOOK_S
                break
            fresh.append(found)
            self.count += 1
        if fresh:
            self._add(fresh)
        return bool(fresh)

    def take_on(self, runs: Sequence[int]) -> None:
        """Take these too, whoever they were meant for: nobody else would."""
        self._look_at = 0.0
        self._taker.widen(runs)
        if self.quota is not None:
            self.quota = max(self.quota, self.count + len(runs))

    def _add(self, claimed: list[tuple[int, int]]) -> None:
        with self._loop.database.transaction():
            for number, claim in claimed:
                run = self.batch.runs[number]
                history = self.claims.history(number)
                made = [attempt["number"] for release in history for attempt in release.get("attempts", [])]
                retries_used = int(history[-1].get("retries_used", 0)) if history else 0
                if number in self._known:  # it ran here before, and somebody wants it to run again
                    self._loop.store.reruns.rerun(run.job_id, time.time(), self._loop.host.id)
                else:
                    spec = replace(run.spec, folder=self.batch.run_folder(run), held=False, not_before=None)
                    spec = replace(spec, command=self._cluster.command_of(self.batch.request_of(number), spec.command))
                    self._jobs.add(self._loop.host.id, [replace(spec, point=None)], self._environment, run.job_id)
                self._known.add(number)
                self._jobs.continue_from(run.job_id, max(made, default=run.attempts), retries_used)
                self.taken[run.job_id] = Taken(run, claim, retries_used)
        self._loop.state.look_again()

    def refuse_impossible(self, seats: list[Seat], machine: Machine) -> None:
        """Fail runs that can never start here, so that they do not wait forever."""
        for job_id, taken in list(self.taken.items()):
            spec = taken.run.spec
            why_not = refusal(ask_of(spec.gpus, spec.needs.as_text()), seats, machine)
            if why_not and taken.ended is None:
                self._close(job_id, Outcome.FAILED, f"it can never start in this SLURM job. {why_not}")

    # -- ending -----------------------------------------------------------------------------------------------

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        taken = self.taken.get(attempt.job.id)
        if taken is None:
            return  # it was given back
        if verdict.again and not self.interrupted:
            taken.not_before_boot = self._loop.reactor.now().boot + verdict.wait_s
            taken.retries_used += verdict.uses_retry
            return
        how = {"outcome": verdict.outcome, "detail": verdict.detail, "ended_at": at}
        how |= {"exit_code": attempt.exit_code, "signal": attempt.signal}
        is_interruption = bool(self.interrupted) and verdict.outcome is not Outcome.SUCCEEDED
        if is_interruption and not taken.wanted_dead:
            self._give_back(attempt.job.id, self.interrupted, {**how, "interruption": not verdict.again})
            return
        taken.ended = how
        taken.write_at = time.monotonic() + _AMBIGUOUS_S if _is_ambiguous(attempt, taken) else 0.0

    @property
    def has_ends(self) -> bool:
        """Whether there are results to write."""
        now = time.monotonic()
        return any(taken.ended is not None and taken.write_at <= now for taken in self.taken.values())

    def write_ends(self) -> None:
        """Write the results of ended runs, unless it is not yet clear whether they ended by themselves."""
        now = time.monotonic()
        for job_id, taken in list(self.taken.items()):
            if taken.ended is None or taken.write_at > now:
                continue
            try:
                self.claims.finish(taken.run.number, taken.claim, {**self._facts(job_id), **taken.ended})
            except OSError as error:  # the file server is full or not reachable: tried again at every turn
                self._loop.observer.trouble(f"The result of job {job_id} cannot be written: {error.strerror}.")
                taken.write_at = 0.0
                self.cannot_write = True
                return
            self.cannot_write = False
            del self.taken[job_id]

    def kill(self, number: int, at_once: bool) -> bool:
        """Fulfil a wish; False if the run is not ours."""
        job_id = self.batch.runs[number].job_id
        taken = self.taken.get(job_id)
        if taken is None or taken.ended is not None:
            return False
        taken.wanted_dead = True
        if any(attempt.job.id == job_id for attempt in self._loop.state.live.values()):
            self._jobs.wish([job_id], kill_wish(at_once))
            self._loop.state.wake()
        else:
            self._close(job_id, Outcome.KILLED, "killed before it started")
        return True

    def give_back_rest(self) -> None:
        """Give back what has not ended, once nothing runs any more."""
        for job_id, taken in list(self.taken.items()):
            if taken.ended is not None and not taken.wanted_dead and taken.write_at:
                taken.ended |= {"interruption": True}
                self._give_back(job_id, self.interrupted, taken.ended)
            elif taken.ended is None:
                self._give_back(job_id, self.interrupted)

    def _close(self, job_id: int, outcome: Outcome, detail: str) -> None:
        """End a run that has no process."""
        with self._loop.database.transaction():
            self._loop.store.moves.finish(job_id, State.QUEUED, outcome, time.time(), detail)
        self._loop.state.look_again()
        self.taken[job_id].ended = {"outcome": outcome, "detail": detail, "ended_at": time.time()}
        self.write_ends()

    def _give_back(self, job_id: int, why: str, how: Mapping[str, Any] | None = None) -> None:
        """Release a claim; a run that was interrupted too often is given up instead."""
        taken = self.taken.pop(job_id)
        run, facts = taken.run.number, {**self._facts(job_id), **(how or {})}
        facts["retries_used"] = taken.retries_used
        too_often = self.claims.interruptions(run) + 1 > self.batch.request.max_interruptions
        try:
            if facts.get("interruption") and too_often:
                given_up = {"outcome": Outcome.TIMED_OUT, "detail": f"interrupted too often; last: {why}"}
                self.claims.finish(run, taken.claim, {**facts, **given_up})
            else:
                facts.pop("outcome", None)
                self.claims.release(run, taken.claim, why, facts)
        except OSError as error:  # the disk is full: others will give it back once we are gone
            self._loop.observer.trouble(f"Job {job_id} cannot be returned to its batch: {error.strerror}.")

    # -- reporting --------------------------------------------------------------------------------------------

    def _facts(self, job_id: int) -> dict[str, Any]:
        """Who we are, and every attempt that we made."""
        attempts = [
            {**made._asdict(), "curve": json.dumps(made.curve) if made.curve else None}
            for made in JobStoryStore(self._loop.database).attempts(job_id)
        ]
        return {**self._about_us, "attempts": attempts}

    def running(self) -> dict[str, Any]:
        """What others may see of each run that has a process."""
        return {
            str(self.taken[attempt.job.id].run.number): {
                "claim": self.taken[attempt.job.id].claim,
                "number": attempt.number,
                "started_at": attempt.started_at,
                "devices": attempt.devices,
                "pid": attempt.pid,
                "log": attempt.log,
                "stopping": attempt.stop is not None,
            }
            for attempt in self._loop.state.live.values()
            if attempt.job.id in self.taken
        }


def _is_ambiguous(attempt: LiveAttempt, taken: Taken) -> bool:
    """Whether a signal that SLURM sent to all processes of the job may have ended it."""
    by_signal = attempt.signal in KILLING_SIGNALS or attempt.exit_code in _SHELLS_KILLED
    return by_signal and not taken.wanted_dead and attempt.stopped_for is None
