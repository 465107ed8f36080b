"""`duckrow` alone: the current state, and what to type next, on one screen."""

from __future__ import annotations

from duckrow.api.client import Client
from duckrow.api.devices.gpus import GpuView
from duckrow.api.queue.listing import ended_runs, tally, tally_in_words
from duckrow.cli.console import terminal_height
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.gpu_table import gpu_lines
from duckrow.cli.views.obstacles import left_by_runs, obstacles
from duckrow.core.jobs.job_filter import Filter

_OWN_LINES = 8  # lines of the screen that are not devices


def overview() -> list[str]:
    client = client_of_verb()
    client.tender.copy()
    client.tender.look()
    ended = ended_runs(client)
    filter = Filter(not_of_hosts=[run.host_id for run in ended])
    counts = tally(client, filter)
    left = left_by_runs(ended)
    return [*_queue(client, filter, counts), *left, "", *_devices(client, len(left)), "", *_next_steps(counts)]


def _queue(client: Client, filter: Filter, counts: dict[str, int]) -> list[str]:
    if not counts:
        return [] if filter.not_of_hosts else ["No jobs yet."]
    return [f"Jobs: {tally_in_words(client, filter, counts)}{obstacles(client, 'queued' in counts)}."]


def _devices(client: Client, lines_above: int) -> list[str]:
    lines = gpu_lines(GpuView(client, patient=False).all_of_this_machine())
    if not lines:
        return ["No devices are in use: neither the daemon nor a `duckrow run` is running."]
    most = max(terminal_height() - _OWN_LINES - lines_above, 3)
    return lines if len(lines) <= most else [*lines[: most - 1], "... (duckrow gpus)"]


def _next_steps(counts: dict[str, int]) -> list[str]:
    if any(counts.get(outcome) for outcome in ("failed", "out-of-memory", "timed-out", "lost")):
        second = ("duckrow ls --failed", "what went wrong")
    elif counts:
        second = ("duckrow ls", "how the jobs are going")
    else:
        second = ("duckrow run commands.txt", "run a list of commands now, one on each GPU at a time")
    steps = [("duckrow submit -- python train.py", "add a job to the queue"), second, ("duckrow help", "all commands")]
    return [f"  {words:<36}{what}" for words, what in steps]
