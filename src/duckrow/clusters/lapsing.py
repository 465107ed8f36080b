"""Gives back what dead pilots have claimed, so that others can take it.

Several processes may do it at once without harm: a claim may lapse twice.
"""

from __future__ import annotations

import os
from typing import Any

from duckrow.clusters.batch_jobs import BatchJobs
from duckrow.clusters.claims import LOGIN, killed_before_it_began
from duckrow.clusters.pilots import Pilot, is_over
from duckrow.clusters.port import GONE

_MOMENT_S = 10.0  # something that takes a moment has failed if it takes longer than this


def lapse(jobs: BatchJobs) -> list[int]:
    """Give back what dead pilots have claimed. Returns the runs."""
    lapsed: list[int] = []
    pilots: dict[str | None, Pilot] = {pilot.name: pilot for pilot in jobs.pilots}
    over: dict[str | None, bool] = {}
    for run, number in jobs.claims.claimed().items():
        holder = jobs.claims.holder(run, number)
        if holder not in pilots:
            _end_half_done(jobs, run, number, holder)
            continue
        if holder not in over:
            over[holder] = _is_over(jobs, pilots[holder])
        # Open these files by name: on a network file system, a listing may be out of date.
        if over[holder] and not (jobs.claims.result(run) or jobs.claims.release_of(run, number)):
            _give_back(jobs, run, number, pilots[holder])
            lapsed.append(run)
    return lapsed


def _end_half_done(jobs: BatchJobs, run: int, number: int, holder: str | None) -> None:
    """A command died while it was ending a run, or a pilot while it was taking one: finish what it began."""
    if holder not in (LOGIN, None) or jobs.claims.age_s(run, number) < max(jobs.batch.request.lease, _MOMENT_S):
        return
    if holder == LOGIN:
        jobs.claims.finish(run, number, killed_before_it_began())
    else:
        jobs.claims.release(run, number, "nobody knows who has taken it")


def _is_over(jobs: BatchJobs, pilot: Pilot) -> bool:
    lives = [other.life for other in jobs.pilots if other.slurm_job == pilot.slurm_job]
    return is_over(jobs.batch, pilot, jobs.states, is_last_life=pilot.life == max(lives))


def _give_back(jobs: BatchJobs, run: int, number: int, pilot: Pilot) -> None:
    """Release a run for a pilot that is over. A run that was interrupted too often is given up instead."""
    why = f"the SLURM job {pilot.slurm_job} ended: {jobs.states.get(pilot.slurm_job, GONE).said}"
    facts: dict[str, Any] = {"interruption": True, "pilot": pilot.name, "attempts": []}
    running = pilot.running.get(run) or _begun_without_a_word(jobs, run)
    if running is not None:
        ended_at = max(pilot.status.get("at", 0.0), running["started_at"])
        ended = {"ended_at": ended_at, "outcome": "lost", "detail": why}
        facts["attempts"] = [{**running, "exit_code": None, "signal": None, **ended}]
    if jobs.claims.interruptions(run) + 1 > jobs.batch.request.max_interruptions:
        facts |= {"outcome": "lost", "detail": f"interrupted too often; at last {why}"}
        jobs.claims.finish(run, number, facts)
    else:
        jobs.claims.release(run, number, why, facts)


def _begun_without_a_word(jobs: BatchJobs, number: int) -> dict[str, Any] | None:
    """An attempt that its pilot had no time to report: its log exists."""
    run = jobs.batch.runs[number]
    told = [made["number"] for release in jobs.claims.history(number) for made in release.get("attempts", [])]
    attempt = max(told, default=run.attempts) + 1
    log = f"{jobs.batch.run_folder(run)}/attempt-{attempt}.log"
    try:
        began = os.stat(log).st_mtime
    except OSError:
        return None
    return {"number": attempt, "started_at": began, "devices": [], "pid": None, "log": log}
