"""The history of a job: everything that is known about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from duckrow.api.queue.views import gpu_seconds
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.history import JobStoryStore
from duckrow.store.jobs.requests import needs_of

if TYPE_CHECKING:
    from duckrow.api.client import Client


def story_of(client: Client, job_id: int) -> dict[str, Any]:
    """Everything known about a job: itself, its attempts, its events."""
    story, now = JobStoryStore(client.database), time.time()
    attempts = [
        {**made._asdict(), "gpu_seconds": gpu_seconds(made.devices, made.started_at, made.ended_at or now)}
        for made in story.attempts(job_id)
    ]
    events = [event._asdict() for event in story.events(job_id)]
    after = [
        {"id": row.on_job_id, "condition": row.condition, "met": bool(row.met)}
        for row in ControlStore(client.database).dependencies_of(job_id)
    ]
    own = client.job(job_id).as_json()
    needs = {name: value for name, value in needs_of(client.database, job_id)._asdict().items() if value}
    return {**own, "needs": needs, "after": after, "attempts_made": attempts, "events": events}
