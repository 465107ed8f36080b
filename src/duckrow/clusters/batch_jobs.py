"""A batch and its jobs on the cluster, as they were when somebody last looked."""

from __future__ import annotations

import math
import time
from typing import Any

from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import Claims
from duckrow.clusters.pilots import TOLD_TO_END, Pilot, read_pilots
from duckrow.clusters.port import GONE, SUBMITTED, JobPhase, States
from duckrow.clusters.shared_files import get, names, put
from duckrow.clusters.standing_still import JobEnd, why_still
from duckrow.core.clusters.groups import told_apart

_GO_ON = "go_on.json"
_LATE_S = 60.0  # how long the cluster may not know a job that was just submitted


class BatchJobs:
    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.claims = Claims(batch)
        self.pilots: list[Pilot] = []
        self.states: States = {}  # of our jobs
        self._arrays: dict[str, dict[str, Any]] = {}  # what was recorded of each when it was submitted

    def look(self, states: States) -> None:
        """Read the batch's folder. `states`: those of all jobs of the user.

        Pilots before claims: if we see that a pilot has ended, we also see everything that it gave back or finished.
        """
        self.pilots = read_pilots(self.batch)
        self.claims.look()
        # If an array was cancelled before it began, there may be a single state for all of its jobs.
        self.states = {job: states.get(job) or states.get(job.partition("_")[0], GONE) for job in self._jobs()}

    def _jobs(self) -> list[str]:
        """Every job of this batch, as the cluster names it."""
        jobs = {pilot.slurm_job: None for pilot in self.pilots}
        self._arrays = {name: get(f"{self.batch.submitted}/{name}") or {} for name in names(self.batch.submitted)}
        for name, facts in self._arrays.items():
            jobs |= {f"{name}_{index}": None for index in facts.get("indices", [])}
        return list(jobs)

    def group_of(self, job: str) -> int:
        """The request that it was submitted for. Before the submission is recorded, its pilot may have said it."""
        noted = self._arrays.get(job.partition("_")[0])
        said = noted or next((pilot.status for pilot in self.pilots if pilot.slurm_job == job), {})
        return int(said.get("group", 0))

    def living(self, group: int | None = None) -> list[str]:
        """The jobs that run or will run, of one group or of all. A job that the cluster itself holds will not run."""
        held = set(self.held())
        return [
            job
            for job, state in self.states.items()
            if job not in held
            and (state.runs or state.waits or self._is_new(job))
            and (group is None or self.group_of(job) == group)
        ]

    def running(self) -> list[str]:
        return [job for job, state in self.states.items() if state.runs]

    def waiting(self) -> dict[str, str]:
        """The waiting jobs, each with the cluster's reason."""
        return {job: state.reason for job, state in self.states.items() if state.waits}

    def held(self) -> dict[str, str]:
        """The jobs that the cluster keeps from starting because something went wrong, with its reason."""
        return {job: state.reason for job, state in self.states.items() if state.phase is JobPhase.HELD}

    def _is_new(self, job: str) -> bool:
        """Whether the cluster may not know it yet. If its pilot has made a folder, the cluster knows it."""
        if self.states[job].phase is not JobPhase.GONE or any(pilot.slurm_job == job for pilot in self.pilots):
            return False
        facts = self._arrays.get(job.partition("_")[0], {})
        return time.time() - float(facts.get("at", 0.0)) < _LATE_S

    def stands_still(self) -> str:
        """Why nothing more should be submitted until somebody says so; empty: more should be, or a job is alive."""
        if self.living():
            return ""
        reasons = [self.why_group_still(group) for group in self.groups_with_work() or range(len(self.batch.requests))]
        return reasons[0] if all(reasons) else ""

    def why_group_still(self, group: int) -> str:
        """The same for the runs of one request, whatever the others do."""
        if self.living(group):
            return ""
        return why_still(self._ends(group), self._last_given_up(), self.batch.pilots)

    def groups(self) -> list[tuple[str, list[str], str]]:
        """If runs ask for different things: each request in words, its jobs, and why no more are submitted."""
        if len(self.batch.requests) == 1:
            return []
        with_work = self.groups_with_work()
        return [
            (asks, [job for job in self.states if self.group_of(job) == group], still)
            for group, asks in enumerate(told_apart(self.batch.requests))
            for still in [self.why_group_still(group) if group in with_work else ""]
        ]

    def groups_with_work(self) -> list[int]:
        """The groups with runs that nobody has taken."""
        return sorted({self.batch.group_of(run) for run in self.claims.free()})

    def go_on(self) -> None:
        """Somebody wants more jobs submitted, however the earlier ones ended."""
        last = max((int(job.partition("_")[0]) for job in self._jobs()), default=0)
        put(f"{self.batch.folder}/{_GO_ON}", {"after": last, "at": time.time()})

    def is_to_go_on_without(self, job: str) -> bool:
        """Whether somebody has asked for more jobs since this one was submitted."""
        return int(job.partition("_")[0]) <= self._last_given_up()

    def _last_given_up(self) -> int:
        """The last array at the time when somebody asked for more; 0: nobody has."""
        return int((get(f"{self.batch.folder}/{_GO_ON}") or {}).get("after", 0))

    def _ends(self, group: int) -> list[JobEnd]:
        holders = {self.claims.holder(*claim) for claim in self.claims.latest.items()}
        lives: dict[str, list[Pilot]] = {}
        for pilot in self.pilots:
            lives.setdefault(pilot.slurm_job, []).append(pilot)
        jobs = [job for job in self.states if self.group_of(job) == group]
        return [self._end_of(job, lives.get(job, []), holders) for job in jobs]

    def _end_of(self, job: str, lives: list[Pilot], holders: set[str | None]) -> JobEnd:
        state, last = self.states[job], max(lives, key=lambda pilot: pilot.life, default=None)
        said = (last.end or {}) if last is not None else {}
        told_to_end = said.get("why") == TOLD_TO_END and state.phase is JobPhase.GONE
        cancelled = state.phase is JobPhase.CANCELLED or told_to_end
        worked = any(pilot.end is not None or pilot.name in holders for pilot in lives)
        known = state.ended_at or said.get("at") or (last.status.get("at") if last else None)
        return JobEnd(job, cancelled, worked, -math.inf if known is None else float(known))

    def all_began(self) -> bool:
        """Whether each of its jobs has begun at least once."""
        self.pilots = read_pilots(self.batch)
        begun = {pilot.slurm_job for pilot in self.pilots}
        return all(job in begun for job in self._jobs())

    def chunk_of(self, job: str) -> int:
        """With fixed chunks: the number of the chunk that it was submitted for."""
        base, _, index = job.partition("_")
        return int(self._arrays.get(base, {}).get("first", 0)) + int(index)

    def note_submitted(self, array: int, facts: dict[str, Any]) -> list[str]:
        """Record that an array was submitted. Returns its jobs."""
        self._arrays[str(array)] = facts
        put(f"{self.batch.submitted}/{array}", facts)
        jobs = [f"{array}_{index}" for index in facts["indices"]]
        self.states = {**self.states, **dict.fromkeys(jobs, SUBMITTED)}
        return jobs
