"""Everything about one job, for its own page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.job_story import story_of
from duckrow.api.queue.listing import annotate, variable_names
from duckrow.api.queue.views import JobView
from duckrow.core.devices.device import Reservations, only_gpus
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.errors import JobGone, NotFoundError
from duckrow.core.life.states import Outcome
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines
from duckrow.kernel.plain_files import open_plain
from duckrow.store.jobs.answers import AnswerStore
from duckrow.store.jobs.listed_job import ListedJob

_LARGEST_CODE_FILE = 1 << 20
_ERROR_LINES = 60
_LINES_WITHOUT_TRACEBACK = 8
_TRACEBACK = "Traceback (most recent call last)"


def check_job(client: Client, job_id: int) -> None:
    client.select([str(job_id)])


def job_details(client: Client, job_id: int) -> dict[str, Any]:
    check_job(client, job_id)
    story = story_of(client, job_id)
    view = client.job(job_id)
    annotate(client, [view])
    made = story.pop("attempts_made")
    folder = view.folder or client.folder.run_folder(view.project, view.name, view.id)
    return {
        **story,
        "eta_s": view.eta_s,
        "run_ended": view.run_ended,
        "attempts_list": [_attempt(attempt, story) for attempt in made],
        "events": [{**event, "text": _event_in_words(event)} for event in story["events"]],
        "environment_names": variable_names(client, job_id),
        "code": _code(folder),
        "run_folder": folder,
        "sweep_id": AnswerStore(client.database).sweep_of(job_id),
        "error": _error(view),
    }


def _error(view: JobView) -> list[str]:
    """The end of the log of a failed job, from its traceback on if there is one; the error is the last line."""
    if view.outcome in (None, Outcome.SUCCEEDED, Outcome.KILLED, Outcome.SKIPPED) or not view.log:
        return []
    lines = last_lines(view.log, _ERROR_LINES, longest=LINE_SHOWN)
    begins = [place for place, line in enumerate(lines) if line.lstrip().startswith(_TRACEBACK)]
    return lines[begins[-1] :] if begins else lines[-_LINES_WITHOUT_TRACEBACK:]


def _row(client: Client, job_id: int) -> ListedJob:
    rows = client.jobs.by_ids([job_id])
    if not rows:
        raise JobGone(job_id)
    return rows[0]


def outfile_of(client: Client, job_id: int) -> str | None:
    """The output file of a job, if the user chose one."""
    return _row(client, job_id).outfile


def _attempt(attempt: dict[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    gpus = [device for device in attempt["devices"] if device.is_gpu]
    lasted_s = (attempt["ended_at"] or time.time()) - attempt["started_at"]
    state = "done" if attempt["ended_at"] is not None else job["state"]
    return {**attempt, "state": state, "duration_s": lasted_s, "gpu_seconds": lasted_s * len(gpus)}


def _event_in_words(event: Mapping[str, Any]) -> str:
    note = f" ({event['detail']})" if event["detail"] else ""
    return f"{event['before']} → {event['outcome'] or event['after']}{note}"


def _code(folder: str) -> dict[str, Any] | None:
    """Which code it was started with, if that was recorded."""
    try:
        with open_plain(f"{folder}/code.json") as file:
            noted = json.loads(file.read(_LARGEST_CODE_FILE))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(noted, dict) or not isinstance(noted.get("commit"), str):
        return None
    return {"commit": noted["commit"], "branch": noted.get("branch"), "dirty": bool(noted.get("changed"))}


def curve_of(client: Client, job_id: int, number: int | None) -> dict[str, Any]:
    """What an attempt used over time; by default the latest attempt."""
    check_job(client, job_id)
    view = client.job(job_id)
    number = number or view.attempts
    row = AnswerStore(client.database).curve(job_id, number)
    if row is None:
        if number:
            raise NotFoundError(f"Job {job_id} has no attempt {number}.")
        return {"attempt": None, "points": [], "reserved_mb": None}
    points = [
        {"at": row.started_at + after_s, "memory_mb": mb, "utilization": busy} for after_s, mb, busy in row.points
    ]
    return {"attempt": number, "points": points, "reserved_mb": _reserved_mb(client, row.holds)}


def _reserved_mb(client: Client, holds: Reservations) -> int | None:
    """The memory reserved on all its GPUs together, if their size is known."""
    sizes: dict[str, int] = {}
    for host in client.hosts.open_hosts():
        sizes.update(client.hosts.machine(host.id).total_mb)
    gpus = only_gpus(holds)
    if not gpus or any(device not in sizes for device, _ in gpus):
        return None
    return sum(sizes[device] * share // WHOLE for device, share in gpus)
