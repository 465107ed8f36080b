"""How many runs the current jobs will take. So: how many more to submit, and what the last pilot must take on."""

from __future__ import annotations

from duckrow.clusters.batch_jobs import BatchJobs
from duckrow.clusters.pilots import Pilot
from duckrow.clusters.port import GONE, ClusterJob, JobPhase
from duckrow.core.clusters.groups import satisfies


def missing(jobs: BatchJobs, group: int) -> list[int]:
    """The indices of the pilots to submit; with fixed chunks, the numbers of the chunks."""
    request, living = jobs.batch.requests[group], jobs.living(group)
    free = jobs.batch.of_group(jobs.claims.free(), group)
    each = request.runs_per_job
    if request.fixed_chunks and each is not None:
        return sorted({run // each for run in free} - {jobs.chunk_of(job) for job in living})
    room = sum(_room_in(jobs, job) for job in living)
    return list(range(request.jobs_for(max(len(free) - room, 0), len(living))))


def left_over(jobs: BatchJobs, us: str) -> list[int]:
    """The runs that we can take and no other job will: they are free, or the pilot that has them is dead.

    Idle jobs do not count: each asks the same question, and is about to end.
    """
    claimed, alive = jobs.claims.claimed(), _alive_pilots(jobs)
    holders = {run: jobs.claims.holder(run, number) for run, number in claimed.items()}
    known = {pilot.name for pilot in jobs.pilots}
    dead = [run for run, holder in holders.items() if holder in known and holder not in alive]
    open_runs = [*jobs.claims.free(), *dead]
    busy = {alive[holder] for holder in holders.values() if holder in alive}
    idle = {pilot.slurm_job for pilot in jobs.pilots if pilot.name in alive and pilot.is_idle}
    others = [job for job in jobs.living() if job != us and (job in busy or job not in idle)]
    ours = jobs.batch.requests[jobs.group_of(us)]
    left: list[int] = []
    for group, request in enumerate(jobs.batch.requests):
        if satisfies(ours, request):
            of_group = [job for job in others if jobs.group_of(job) == group]
            left += _left_by(jobs, of_group, jobs.batch.of_group(open_runs, group))
    return left


def _left_by(jobs: BatchJobs, others: list[str], open_runs: list[int]) -> list[int]:
    """Which of these runs these jobs will not take."""
    request = jobs.batch.request
    if request.fixed_chunks and request.runs_per_job is not None:
        theirs = {jobs.chunk_of(job) for job in others}
        return [run for run in open_runs if run // request.runs_per_job not in theirs]
    if request.runs_per_job is None:
        return [] if others else open_runs
    return open_runs[sum(_room_in(jobs, job) for job in others) :]


def _alive_pilots(jobs: BatchJobs) -> dict[str | None, str]:
    """Pilot -> job, for jobs that run according to the cluster, each with its latest pilot."""
    last = {pilot.slurm_job: pilot for pilot in sorted(jobs.pilots, key=lambda pilot: pilot.life)}
    return {p.name: job for job, p in last.items() if p.end is None and jobs.states.get(job, GONE).runs}


def _room_in(jobs: BatchJobs, job: str) -> int:
    """How many more runs a living job will take. One that starts, or starts again, has none yet."""
    request = jobs.batch.requests[jobs.group_of(job)]
    lives = [pilot for pilot in jobs.pilots if pilot.slurm_job == job]
    last = max(lives, key=lambda pilot: pilot.life, default=None)
    if _is_leaving(last, jobs.states[job]) and jobs.is_to_go_on_without(job):
        return 0
    is_fresh = last is None or last.end is not None or not last.status or jobs.states[job].waits
    if request.runs_per_job is not None:
        return request.runs_per_job - (0 if is_fresh or last is None else int(last.status.get("taken", 0)))
    if is_fresh or last is None:
        return request.runs_at_a_time
    return max(int(last.status.get("places", 1)) - len(last.running), 0)


def _is_leaving(last: Pilot | None, state: ClusterJob) -> bool:
    """Whether a running job takes no more. Either may know it first: its pilot says so, or the cluster ends it."""
    is_told = last is not None and last.takes_no_more and state.runs
    return is_told or state.phase is JobPhase.ENDING
