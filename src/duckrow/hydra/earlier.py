"""Resuming: checks the jobs of an earlier launch, and removes those that must run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.hydra.multirun import HydraRun

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.sweeps.sweeps import PointJob


def forget_ended(client: Client, sweep_id: int, runs: Sequence[HydraRun]) -> list[HydraRun]:
    """The runs to submit. The others are already queued or running."""
    from duckrow.api.jobs.kill import kill_abandoned
    from duckrow.api.jobs.remove import remove
    from duckrow.api.sweeps.sweeps import Sweeps

    sweeps = Sweeps(client)
    keys = {run.key for run in runs}
    kill_abandoned(client, [row.job_id for row in sweeps.points_with(sweep_id, keys)])
    rows = sweeps.points_with(sweep_id, keys)
    dead = client.ended_runs()
    over = [row.job_id for row in rows if row.state == "done" or _is_stranded(row, dead)]
    removed = set(remove(client, over).done) if over else set()
    busy = {row.key for row in rows if row.job_id not in removed}
    return [run for run in runs if run.key not in busy]


def _is_stranded(row: PointJob, dead: set[int]) -> bool:
    """It waits for a `duckrow run` that has ended."""
    return row.state == "queued" and row.host_id in dead
