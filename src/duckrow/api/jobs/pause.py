"""Pause and resume single jobs: a queued one is held, a running one is suspended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, look_at
from duckrow.api.jobs.hold import already_held, set_held
from duckrow.api.queue.views import JobView
from duckrow.core.life.pausing import resume_command
from duckrow.core.life.states import State, state_in_words
from duckrow.core.life.wishes import Wish

if TYPE_CHECKING:
    from duckrow.api.client import Client


@dataclass
class PausedJobs(Changed[JobView]):
    waiting: list[int] = field(default_factory=list)  # of those in `done`: held or released
    running: list[int] = field(default_factory=list)  # suspended or continued


def pause(client: Client, ids: Sequence[int]) -> PausedJobs:
    """Hold queued jobs, suspend running ones, until they are resumed or killed."""
    paused = _look(client, ids)
    refused = _already_paused(client, paused.jobs)
    waiting = [job.id for job in paused.jobs if job.state == State.QUEUED and job.id not in refused]
    paused.waiting = set_held(client, waiting, held=True)
    held = {*paused.waiting, *refused}
    others = [job for job in paused.jobs if job.id not in held]
    refused |= _cannot_be_suspended(client, others)
    wished = [job.id for job in others if job.id not in refused]
    if wished:
        client.wish(wished, Wish.PAUSE)
        client.await_wishes(wished)
    for job in client.views(wished):
        if job.suspended:
            paused.running.append(job.id)
        elif job.held:  # it waits for its next attempt
            paused.waiting.append(job.id)
        else:
            refused[job.id] = f"{job.words} has changed: it {state_in_words(job.state, job.outcome)}"
    return _ended(paused, refused, undo="resume")


def resume(client: Client, ids: Sequence[int]) -> PausedJobs:
    """Release held jobs, continue suspended ones."""
    resumed = _look(client, ids)
    resumed.waiting = set_held(client, [job.id for job in resumed.jobs if job.held], held=False)
    resumed.running = [job.id for job in resumed.jobs if job.suspended]
    if resumed.running:
        client.wish(resumed.running, Wish.CONTINUE)
        client.await_wishes(resumed.running)
    done = {*resumed.waiting, *resumed.running}
    refused = {job.id: _why_not_resumed(client, job) for job in resumed.jobs if job.id not in done}
    return _ended(resumed, refused, undo="pause")


def _look(client: Client, ids: Sequence[int]) -> PausedJobs:
    looked = look_at(client, ids)
    return PausedJobs(looked.before, refused=looked.refused)


def _ended(paused: PausedJobs, refused: dict[int, str], undo: str) -> PausedJobs:
    paused.done = sorted([*paused.waiting, *paused.running])
    for job_id, why in refused.items():
        paused.refuse(job_id, why)
    if paused.done:
        paused.undo = {"action": undo, "ids": list(paused.done)}
    return paused


def _already_paused(client: Client, jobs: Sequence[JobView]) -> dict[int, str]:
    """A job that is suspended with the queue can still be paused by itself."""
    by_itself = client.jobs.suspended()
    refused = {job.id: already_held(job.id) for job in jobs if job.state == State.QUEUED and job.held}
    return refused | {job.id: f"{job.words} is already paused" for job in jobs if by_itself.get(job.id)}


def _cannot_be_suspended(client: Client, jobs: Sequence[JobView]) -> dict[int, str]:
    away = set(client.on_clusters([job.id for job in jobs]))
    refused = {}
    for job in jobs:
        if job.state in (State.DONE, State.STOPPING):
            refused[job.id] = f"{job.words} {state_in_words(job.state, job.outcome)}"
        elif job.id in away:
            refused[job.id] = f"{job.words} runs on a cluster, where it cannot be suspended"
    return refused


def _why_not_resumed(client: Client, job: JobView) -> str:
    if job.state != State.QUEUED:
        return f"{job.words} {state_in_words(job.state, job.outcome)}: it is not paused"
    pauses = client.jobs.pauses()
    if "" in pauses:
        return f"{job.words} is paused because everything is: {resume_command('')}"
    if job.project in pauses:
        return f"{job.words} is paused because {job.project} is: {resume_command(job.project)}"
    return f"{job.words} is not paused: duckrow why {job.id} says what it waits for"
