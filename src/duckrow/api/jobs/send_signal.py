"""Sends a signal to the processes of jobs, for example for a checkpoint; the jobs keep running."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.adding.job_values import parse_signal
from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.core.errors import UsageError
from duckrow.core.life.states import State
from duckrow.core.life.wishes import signal_note, signal_wish

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance

_PAUSES = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGCONT)


def send_signal(client: Client, ids: Sequence[int], name: str) -> Changed[Glance]:
    """Signal the running ones. `name`: USR1, INT, 10."""
    number = parse_signal(name, "USR1, INT, HUP or a number")
    changed = glance_at(client, ids)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.refuse(job.id, f"{job.words} is already done")
        elif job.state == State.QUEUED:
            changed.refuse(job.id, f"{job.words} is queued: it has no process to signal")
        else:
            changed.done.append(job.id)
    on_clusters = client.on_clusters(changed.done)
    if on_clusters:
        raise UsageError(f"Job {on_clusters[0]} runs on a cluster: scancel --signal={name} sends a signal there.")
    if changed.done:
        _send(client, changed, number, name)
    return changed


def _send(client: Client, changed: Changed[Glance], number: int, name: str) -> None:
    from duckrow.store.jobs.answers import AnswerStore  # most kills send no signal

    began_at = time.time()
    client.wish(changed.done, signal_wish(number))
    client.await_wishes(changed.done)
    if number in _PAUSES:
        return  # as pause and resume, with or without a process
    sent = AnswerStore(client.database).noted(changed.done, signal_note(number, was_sent=True), began_at)
    for job_id in changed.done:
        if job_id not in sent:
            changed.refuse(job_id, f"{changed.before[job_id].words} has no process that handles {name}")
    changed.done = [job_id for job_id in changed.done if job_id in sent]
