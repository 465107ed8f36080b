"""Resuming: what has become of the jobs of an earlier launch, and forgetting those that are to be run again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra_plugins.duckrow_launcher._multirun import Run

if TYPE_CHECKING:
    from duckrow.api.client import Client

_ANSWER_S = 10.0  # for so long SLURM may think about what it still has


def forget_ended(client: Client, sweep_id: int, runs: Sequence[Run]) -> list[Run]:
    """Those of the runs that are to be submitted. The others wait or run already, and are left alone."""
    from duckrow.api.control import Control

    keys = {run.key for run in runs}
    _end_abandoned(client, [row["job_id"] for row in _rows(client, sweep_id, keys) if row["state"] == "queued"])
    rows = _rows(client, sweep_id, keys)
    dead = _dead_runs(client)
    over = [row["job_id"] for row in rows if row["state"] == "done" or _is_stranded(row, dead)]
    removed = set(Control(client).remove(over)) if over else set()
    busy = {row["key"] for row in rows if row["job_id"] not in removed}
    return [run for run in runs if run.key not in busy]


def _rows(client: Client, sweep_id: int, keys: set[str]) -> list[Any]:
    from duckrow.api.sweeps import Sweeps

    return [row for row in Sweeps(client).store.points(sweep_id) if row["key"] in keys]


def _dead_runs(client: Client) -> set[int]:
    living = {row.id for row in client.living_hosts()}
    return {row.id for row in client.hosts.all() if row.kind == "run" and row.id not in living}


def _is_stranded(row: Any, dead: set[int]) -> bool:
    """It waits for a `duckrow run` that has ended."""
    return row["state"] == "queued" and row["host_id"] in dead


def _end_abandoned(client: Client, waiting: Sequence[int]) -> None:
    """Runs of a batch whose SLURM jobs somebody has cancelled would wait for ever."""
    batch_of = {job_id: batch for job_id, (batch, _) in client.batches.of_jobs(waiting).items()}
    if not batch_of:
        return
    began = time.time()
    while client.batches.store.last_asked()[0] < began and time.time() < began + _ANSWER_S:
        client.batches.refresh(every_s=0.0)
        time.sleep(0.05)
    abandoned = [job_id for job_id, batch in batch_of.items() if batch in client.batches.still]
    if abandoned:
        client.wish(abandoned, "kill")
