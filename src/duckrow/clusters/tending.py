"""Tending a batch from a login node: claims of dead pilots lapse, missing pilots are submitted, useless ones cancelled.

All of it may be done by several at once without harm: a claim that lapses twice has lapsed, and a pilot too many finds
nothing to take and ends.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from typing import Any

from duckrow.clusters.batch import Batch
from duckrow.clusters.claims import LOGIN, Claims, killed_before_it_began
from duckrow.clusters.pilots import (
    ALIVE,
    GONE,
    HELD,
    HELD_STATES,
    TOLD_TO_END,
    WAITING,
    Pilot,
    is_over,
    read_pilots,
)
from duckrow.clusters.shared_files import get, names, put
from duckrow.clusters.slurm import commands
from duckrow.clusters.slurm.script import array_of, script_of
from duckrow.clusters.standing_still import JobEnd, why_still
from duckrow.core.slurm.groups import satisfies, told_apart

CANCELLED = "CANCELLED"
_GO_ON = "go_on.json"
_LATE_S = 60.0  # so long a job that was just submitted may be unknown to squeue
_MOMENT_S = 10.0  # what takes a moment is not longer under way than this


class Tending:
    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.claims = Claims(batch)
        self.pilots: list[Pilot] = []
        self.states: Mapping[str, str] = {}  # of our SLURM jobs
        self._arrays: dict[str, dict[str, Any]] = {}  # what was noted of each when it was submitted
        self._limits: commands.SlurmLimits | None = None

    # -- looking ----------------------------------------------------------------------------------------------

    def look(self, states: Mapping[str, str]) -> None:
        """`states`: of all SLURM jobs of the user.

        Pilots before claims: of one that is seen to have ended, everything that it gave back or finished is seen too.
        """
        self.pilots = read_pilots(self.batch)
        self.claims.look()
        # Of an array that was cancelled before it began, SLURM keeps one line for all.
        self.states = {job: states.get(job) or states.get(job.partition("_")[0], GONE) for job in self._jobs()}

    def _jobs(self) -> list[str]:
        """Every SLURM job of this batch, as squeue names it."""
        jobs = {pilot.slurm_job: None for pilot in self.pilots}
        self._arrays = {name: get(f"{self.batch.submitted}/{name}") or {} for name in names(self.batch.submitted)}
        for name, facts in self._arrays.items():
            jobs |= {f"{name}_{index}": None for index in facts.get("indices", [])}
        return list(jobs)

    def group_of(self, job: str) -> int:
        """For which of the batch's requests it was submitted; one that is just being noted may have said so itself."""
        noted = self._arrays.get(job.partition("_")[0])
        said = noted or next((pilot.status for pilot in self.pilots if pilot.slurm_job == job), {})
        return int(said.get("group", 0))

    def living(self, group: int | None = None) -> list[str]:
        """The jobs that run, or will; or those of one group. One that SLURM holds by itself will not."""
        held = set(self.held())
        return [
            job
            for job, state in self.states.items()
            if job not in held
            and (state in ALIVE | WAITING or self._is_new(job))
            and (group is None or self.group_of(job) == group)
        ]

    def running(self) -> list[str]:
        return [job for job, state in self.states.items() if state in ALIVE]

    def waiting(self) -> dict[str, str]:
        """The jobs that wait, with SLURM's reason."""
        return {job: str(getattr(state, "reason", "")) for job, state in self.states.items() if state in WAITING}

    def held(self) -> dict[str, str]:
        """The jobs that SLURM keeps from starting because something went wrong, with its reason."""
        return {job: why for job, why in self.waiting().items() if why in HELD or self.states[job] in HELD_STATES}

    def _is_new(self, job: str) -> bool:
        """Whether it may be too new for squeue; one that has left its folder is known."""
        if self.states[job] != GONE or any(pilot.slurm_job == job for pilot in self.pilots):
            return False
        facts = self._arrays.get(job.partition("_")[0], {})
        return time.time() - float(facts.get("at", 0.0)) < _LATE_S

    def stands_still(self) -> str:
        """Why nothing more should be submitted before somebody says so; empty: it should, or somebody lives."""
        if self.living():
            return ""
        reasons = [self.why_group_still(group) for group in self._groups_with_work() or range(len(self.batch.requests))]
        return reasons[0] if all(reasons) else ""

    def why_group_still(self, group: int) -> str:
        """The same of the runs that ask for one thing, whatever goes on beside them."""
        if self.living(group):
            return ""
        wanted = get(f"{self.batch.folder}/{_GO_ON}") or {}
        return why_still(self._ends(group), int(wanted.get("after", 0)), self.batch.pilots)

    def groups(self) -> list[tuple[str, list[str], str]]:
        """Where runs ask for different things: each in words, the SLURM jobs for it, why there are no more of these."""
        if len(self.batch.requests) == 1:
            return []
        with_work = self._groups_with_work()
        return [
            (asks, [job for job in self.states if self.group_of(job) == group], still)
            for group, asks in enumerate(told_apart(self.batch.requests))
            for still in [self.why_group_still(group) if group in with_work else ""]
        ]

    def _groups_with_work(self) -> list[int]:
        """Those that have runs which nobody has taken."""
        return sorted({self.batch.group_of(run) for run in self.claims.free()})

    def go_on(self) -> None:
        """Somebody wants more to be submitted, whatever became of the SLURM jobs so far."""
        last = max((int(job.partition("_")[0]) for job in self._jobs()), default=0)
        put(f"{self.batch.folder}/{_GO_ON}", {"after": last, "at": time.time()})

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
        told_to_end = said.get("why") == TOLD_TO_END and state == GONE
        worked = any(pilot.end is not None or pilot.name in holders for pilot in lives)
        known = getattr(state, "ended_at", None) or said.get("at") or (last.status.get("at") if last else None)
        return JobEnd(job, state == CANCELLED or told_to_end, worked, -math.inf if known is None else float(known))

    # -- lapsing ----------------------------------------------------------------------------------------------

    def lapse(self) -> list[int]:
        """Give back what dead pilots have claimed; the runs."""
        lapsed: list[int] = []
        pilots: dict[str | None, Pilot] = {pilot.name: pilot for pilot in self.pilots}
        over: dict[str | None, bool] = {}
        for run, number in self.claims.claimed().items():
            holder = self.claims.holder(run, number)
            if holder not in pilots:
                self._end_half_done(run, number, holder)
                continue
            if holder not in over:
                over[holder] = self._is_over(pilots[holder])
            # Asked for by name: a network file system's listing may be older than what it has.
            if over[holder] and not (self.claims.result(run) or self.claims.release_of(run, number)):
                self.give_back(run, number, pilots[holder])
                lapsed.append(run)
        return lapsed

    def _end_half_done(self, run: int, number: int, holder: str | None) -> None:
        """A command that was ending a run, or a pilot that was taking it, has died within that moment."""
        if holder not in (LOGIN, None) or self.claims.age_s(run, number) < max(self.batch.request.lease, _MOMENT_S):
            return
        if holder == LOGIN:
            self.claims.finish(run, number, killed_before_it_began())
        else:
            self.claims.release(run, number, "it is unknown which SLURM job took it")

    def _is_over(self, pilot: Pilot) -> bool:
        lives = [other.life for other in self.pilots if other.slurm_job == pilot.slurm_job]
        return is_over(self.batch, pilot, self.states, is_last_life=pilot.life == max(lives))

    def give_back(self, run: int, number: int, pilot: Pilot) -> None:
        """What a pilot that is over cannot release itself any more; too many such ends, and the run is given up."""
        why = f"the SLURM job {pilot.slurm_job} ended: {self.states.get(pilot.slurm_job, GONE).lower()}"
        facts: dict[str, Any] = {"interruption": True, "pilot": pilot.name, "attempts": []}
        running = pilot.running.get(run) or self._begun_without_a_word(run)
        if running is not None:
            ended_at = max(pilot.status.get("at", 0.0), running["started_at"])
            ended = {"ended_at": ended_at, "outcome": "lost", "detail": why}
            facts["attempts"] = [{**running, "exit_code": None, "signal": None, **ended}]
        if self.claims.interruptions(run) + 1 > self.batch.request.max_interruptions:
            facts |= {"outcome": "lost", "detail": f"interrupted too often; last: {why}"}
            self.claims.finish(run, number, facts)
        else:
            self.claims.release(run, number, why, facts)

    def _begun_without_a_word(self, number: int) -> dict[str, Any] | None:
        """An attempt that its pilot had no time to tell of: its log is there."""
        run = self.batch.runs[number]
        told = [made["number"] for release in self.claims.history(number) for made in release.get("attempts", [])]
        attempt = max(told, default=run.attempts) + 1
        log = f"{self.batch.run_folder(run)}/attempt-{attempt}.log"
        try:
            began = os.stat(log).st_mtime
        except OSError:
            return None
        return {"number": attempt, "started_at": began, "devices": [], "pid": None, "log": log}

    # -- submitting -------------------------------------------------------------------------------------------

    def submit_missing(self) -> list[str]:
        """Submit as many pilots as there is work for, as far as SLURM lets us; the jobs.

        All that will be needed, so that nobody has to come again: how many run at a time is SLURM's to see to.
        """
        missing = {group: self._missing(group) for group in self._groups_with_work()}
        self._cancel_pending(list(self.held()))  # they are replaced
        submitted: list[str] = []
        refused: list[commands.SlurmRefused] = []
        for group, indices in missing.items():
            try:
                submitted += self._submit_group(group, indices) if not self.why_group_still(group) else []
            except commands.SlurmRefused as error:  # those that ask for something else may be welcome
                error.request = self.batch.requests[group]
                refused.append(error)
        if refused:
            raise refused[0]
        return submitted

    def _submit_group(self, group: int, indices: list[int]) -> list[str]:
        submitted: list[str] = []
        if not indices:
            return submitted
        size = min(self.limits.array_size, len(indices))
        while indices:
            part = [index for index in indices[:size] if index - indices[0] < self.limits.array_size]
            try:
                submitted += self._submit(group, part)
                indices = indices[len(part) :]
            except commands.TooMany:
                if size > 1:
                    size = (size + 1) // 2
                    continue
                if submitted or self.living():
                    break  # the present ones take more, and others come when there is room
                raise
        return submitted

    def _missing(self, group: int) -> list[int]:
        """The indices of the pilots to submit; with fixed chunks, the numbers of the chunks."""
        request, living = self.batch.requests[group], self.living(group)
        free = self.batch.of_group(self.claims.free(), group)
        each = request.runs_per_job
        if request.fixed_chunks and each is not None:
            return sorted({run // each for run in free} - {self._chunk_of(job) for job in living})
        room = sum(self._room_in(job) for job in living)
        return list(range(request.jobs_for(max(len(free) - room, 0), len(living))))

    def left_over(self, us: str) -> list[int]:
        """The runs that we can take and no other SLURM job would: they are free, or whoever has them is dead.

        One that has nothing to do asks itself the same, and is about to end.
        """
        claimed, alive = self.claims.claimed(), self._alive_pilots()
        holders = {run: self.claims.holder(run, number) for run, number in claimed.items()}
        known = {pilot.name for pilot in self.pilots}
        dead = [run for run, holder in holders.items() if holder in known and holder not in alive]
        open_runs = [*self.claims.free(), *dead]
        busy = {alive[holder] for holder in holders.values() if holder in alive}
        idle = {pilot.slurm_job for pilot in self.pilots if pilot.name in alive and pilot.is_idle}
        others = [job for job in self.living() if job != us and (job in busy or job not in idle)]
        ours = self.batch.requests[self.group_of(us)]
        left: list[int] = []
        for group, request in enumerate(self.batch.requests):
            if satisfies(ours, request):
                of_group = [job for job in others if self.group_of(job) == group]
                left += self._left_by(of_group, self.batch.of_group(open_runs, group))
        return left

    def _left_by(self, others: list[str], open_runs: list[int]) -> list[int]:
        """Of these runs, those that these SLURM jobs leave."""
        request = self.batch.request
        if request.fixed_chunks and request.runs_per_job is not None:
            theirs = {self._chunk_of(job) for job in others}
            return [run for run in open_runs if run // request.runs_per_job not in theirs]
        if request.runs_per_job is None:
            return [] if others else open_runs
        return open_runs[sum(self._room_in(job) for job in others) :]

    def _alive_pilots(self) -> dict[str | None, str]:
        """Pilot -> SLURM job, of those that SLURM says run, in their last life."""
        last = {pilot.slurm_job: pilot for pilot in sorted(self.pilots, key=lambda pilot: pilot.life)}
        return {p.name: job for job, p in last.items() if p.end is None and self.states.get(job) in ALIVE}

    def _room_in(self, job: str) -> int:
        """How many runs a job that lives will take beside those that it has; one that starts (again) has none yet."""
        request = self.batch.requests[self.group_of(job)]
        lives = [pilot for pilot in self.pilots if pilot.slurm_job == job]
        last = max(lives, key=lambda pilot: pilot.life, default=None)
        is_fresh = last is None or last.end is not None or not last.status or self.states[job] in WAITING
        if request.runs_per_job is not None:
            return request.runs_per_job - (0 if is_fresh or last is None else int(last.status.get("taken", 0)))
        if is_fresh or last is None:
            return request.places
        return max(int(last.status.get("places", 1)) - len(last.running), 0)

    def _chunk_of(self, job: str) -> int:
        base, _, index = job.partition("_")
        return int(self._arrays.get(base, {}).get("first", 0)) + int(index)

    def _submit(self, group: int, numbers: list[int]) -> list[str]:
        """The indices of an array begin with 0, so that many are not too large; `first` is told beside them."""
        first = numbers[0]
        indices = [number - first for number in numbers]
        at_a_time, options = self._throttle(group)
        array = array_of(indices, at_a_time)
        job_id = commands.sbatch(
            self._script(group), array, str(first), environment=self.batch.environment(), options=options
        )
        noted = {"first": first, "indices": indices, "at": time.time(), **({"group": group} if group else {})}
        self._arrays[str(job_id)] = noted
        put(f"{self.batch.submitted}/{job_id}", noted)
        jobs = [f"{job_id}_{index}" for index in indices]
        self.states = {**self.states, **dict.fromkeys(jobs, "PENDING")}
        return jobs

    def _script(self, group: int) -> str:
        path = self.batch.script(group)
        with open(path, "w") as file:
            file.write(script_of(self.batch.folder, self.batch.requests[group], self.batch.python, group=group))
        return path

    def check(self) -> None:
        """Where runs ask for different things: refuse before any of it is submitted what SLURM would refuse."""
        groups = range(len(self.batch.requests))
        for group in groups if len(groups) > 1 else []:
            try:
                commands.test_only(self._script(group), environment=self.batch.environment())
            except commands.SlurmRefused as error:
                error.request = self.batch.requests[group]
                raise

    def cancel_all(self) -> None:
        """What was submitted, also where it has begun."""
        commands.scancel(sorted(names(self.batch.submitted)), clusters=self.batch.request.clusters)

    def _throttle(self, group: int) -> tuple[int | None, list[str]]:
        """How many of a new array may run at a time, and what else sbatch is told: it may have to wait for others."""
        most, living = self.batch.request.max_jobs, self.living(group)
        if most is None or len(living) < most:
            return (None if most is None else most - len(living)), []
        before = sorted({job.partition("_")[0] for job in living}, key=int)
        return most, [f"--dependency={','.join([*self.batch.requests[group].dependencies, f'afterany:{before[-1]}'])}"]

    def cancel_useless(self) -> None:
        """When all is done: pilots that have not begun, or would begin again."""
        self._cancel_pending(sorted(names(self.batch.submitted)))

    def _cancel_pending(self, jobs: list[str]) -> None:
        commands.scancel(jobs, "--state=PENDING", clusters=self.batch.request.clusters)

    def all_began(self) -> bool:
        """Whether none of its SLURM jobs waits for the first time."""
        self.pilots = read_pilots(self.batch)
        begun = {pilot.slurm_job for pilot in self.pilots}
        return all(job in begun for job in self._jobs())

    @property
    def limits(self) -> commands.SlurmLimits:
        if self._limits is None:
            self._limits = commands.limits()
        return self._limits
