"""What keeps the queue from going on, in words."""

from __future__ import annotations

from duckrow.api.client import Client
from duckrow.api.cluster_standing import still_note
from duckrow.api.listing import ended_runs, waits_for_daemon
from duckrow.api.out_of_use import set_aside


def obstacles(client: Client, some_wait: bool) -> str:
    """What keeps the queue, or part of it, from going on, as the end of a sentence: with what to type."""
    return _set_aside(client) + _others(client, some_wait)


def _set_aside(client: Client) -> str:
    broken = sorted(set_aside(client.database, *(host.id for host in client.living_hosts())))
    are = "GPU {} is" if len(broken) == 1 else "GPUs {} are"
    return f"; {are.format(', '.join(broken))} set aside (duckrow gpus)" if broken else ""


def _others(client: Client, some_wait: bool) -> str:
    pauses = client.jobs.pauses()
    if "" in pauses:
        return "; everything is paused (duckrow resume)"
    note = f"; {', '.join(pauses)} {'is' if len(pauses) == 1 else 'are'} paused (duckrow resume)" if pauses else ""
    if not some_wait:
        return note
    note += still_note(client)
    runs = ended_runs(client)
    stranded = sum(runs.values())
    if stranded:
        name, *others = reversed(runs)
        which = f"{len(runs)} runs that have" if others else "a run that has"
        wait = "waits" if stranded == 1 else "wait"
        note += f"; {stranded} {wait} for {which} ended (duckrow run --resume={name})"
    if client.daemon() is None and waits_for_daemon(client):
        note += "; the daemon is not running (duckrow up)"
    return note
