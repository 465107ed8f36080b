"""What blocks the queue, in words."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.api.client import Client
from duckrow.api.queue.listing import EndedRun, waits_for_daemon
from duckrow.cli.console import say
from duckrow.core.units import plural


def obstacles(client: Client, some_wait: bool) -> str:
    """What blocks the queue, or part of it, as the end of a sentence, with what to type."""
    return _set_aside(client) + _others(client, some_wait)


NO_DAEMON = "duckrow: the daemon is not running; `duckrow up` starts it."


def say_if_nobody_starts(client: Client) -> None:
    """After jobs were queued or let go: nothing but adding jobs starts the daemon."""
    if client.daemon() is None and waits_for_daemon(client):
        say(NO_DAEMON)


def left_by_runs(runs: Sequence[EndedRun]) -> list[str]:
    """The jobs that ended runs have left behind, and what to type to continue or drop them."""
    lines = [
        f"{run.name} has ended with {plural(run.jobs, 'job')} left. "
        f"{f'Continue: {run.continued_by}. ' if run.continued_by else ''}Drop: {run.dropped_by}"
        for run in runs[-_RUNS_TOLD:]
    ]
    older = runs[:-_RUNS_TOLD]
    if older:
        jobs = plural(sum(run.jobs for run in older), "job")
        lines.insert(0, f"{jobs} of {plural(len(older), 'earlier run')} that ended (duckrow ls --all -s queued).")
    return lines


_RUNS_TOLD = 3


def _set_aside(client: Client) -> str:
    from duckrow.api.devices.out_of_use import set_aside_by_living

    broken = sorted(set_aside_by_living(client))
    are = "GPU {} is" if len(broken) == 1 else "GPUs {} are"
    return f"; {are.format(', '.join(broken))} set aside (duckrow gpus)" if broken else ""


def _others(client: Client, some_wait: bool) -> str:
    pauses = client.pauses()
    if pauses:
        from duckrow.core.life.pausing import resume_command
    if "" in pauses:
        return f"; everything is paused ({resume_command('')})"
    note = "".join(f"; {project} is paused ({resume_command(project)})" for project in pauses)
    if not some_wait:
        return note
    from duckrow.api.clusters.standing import still_note

    note += still_note(client)
    if client.daemon() is None and waits_for_daemon(client):
        note += "; the daemon is not running (duckrow up)"
    return note
