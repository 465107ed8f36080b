"""Pause and resume the whole queue or one project: nothing more starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.errors import ConflictError
from duckrow.core.life.failures import compact_ids
from duckrow.core.life.pausing import resume_command
from duckrow.core.life.wishes import Wish
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.units import plural

if TYPE_CHECKING:
    from duckrow.api.client import Client


class StillPaused(NamedTuple):
    projects: list[str]  # empty: everything
    jobs: list[int]  # those paused one by one


def pause_queue(client: Client, project: str | None, stop_running: bool = False) -> int:
    """`stop_running`: also suspend running jobs; returns how many."""
    if not stop_running and (project or "") in client.jobs.pauses():
        raise ConflictError(
            f"{project or 'Everything'} is already paused. To continue: {resume_command(project or '')}"
        )
    client.jobs.pause(project or "")
    client.ring_all()
    return _suspend(client, project) if stop_running else 0


def _suspend(client: Client, project: str | None) -> int:
    """Suspend the running jobs that are not suspended yet; returns how many."""
    before = client.jobs.suspended()
    running = [row.job_id for row in client.jobs.live() if project in (None, row.project) and row.job_id not in before]
    if running:
        client.wish(running, Wish.SUSPEND)
        client.await_wishes(running)
    return len(running)


def resume_queue(client: Client, project: str | None) -> StillPaused:
    """Resume a project, or everything; then a project or job that was paused by itself stays paused."""
    paused = client.jobs.pauses()
    if (project or "") not in paused:
        raise ConflictError(_not_paused(client, project, paused))
    client.jobs.unpause(project or "")
    left, alone = client.jobs.pauses(), client.jobs.suspended()
    running = [
        row.job_id
        for row in client.jobs.live()
        if project in (None, row.project) and row.project not in left and not alone.get(row.job_id)
    ]
    if running:
        client.wish(running, Wish.CONTINUE)  # harmless for those that were not suspended
    client.ring_all()
    return StillPaused(left, [job_id for job_id, by_itself in alone.items() if by_itself])


def _not_paused(client: Client, project: str | None, paused: list[str]) -> str:
    """Says what is paused instead, and how to resume that."""
    if project is not None:
        return f"'{project}' is not paused."
    if paused:
        return f"Not everything is paused, only {', '.join(paused)}: {resume_command(paused[0])}"
    alone = list(client.jobs.suspended())
    only = f", only {plural(len(alone), 'job')}: duckrow resume {compact_ids(alone)}" if alone else "."
    return f"The queue is not paused{only}"
