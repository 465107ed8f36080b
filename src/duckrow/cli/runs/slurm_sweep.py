"""`duckrow sweep --on`: the runs of a sweep as a batch on a cluster, submitted, or watched until they are done."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from duckrow.cli.console import say, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckrow.api.clusters.submit import ClusterRequest
    from duckrow.api.sweeps.sweeps import SweepRow, Sweeps, Todo
    from duckrow.cli.options.verb_options import WatchOptions
    from duckrow.core.jobs.job import JobSpec


def read_cluster(on: str | None, asked: dict[str, Any]) -> ClusterRequest | None:
    """The request to the cluster, if one was named."""
    if on is None:
        return None
    from duckrow.api.clusters.submit import read_request

    return read_request(on, asked)


def watch_sweep(
    sweeps: Sweeps,
    sweep: SweepRow,
    todo: Todo,
    specs: Sequence[JobSpec],
    request: ClusterRequest,
    variables: dict[str, str],
    watch: WatchOptions,
) -> int:
    """Submit them and wait until they are done; the exit code."""
    from duckrow.api.clusters.sweeps import submit_sweep
    from duckrow.api.sweeps.listing import handle_of
    from duckrow.cli.runs.slurm import watch_runs
    from duckrow.cli.views.run_view import make_view

    ids = submit_sweep(sweeps, sweep, specs, todo, request, variables, tell)
    handle = shlex.quote(handle_of(sweeps.client, sweep))
    view = make_view(watch)
    code = watch_runs(sweeps.client, ids, view, watch.max_failures, f"duckrow sweep --resume --name {handle}")
    say(f"duckrow: `duckrow results {handle}` shows the results.")
    return code
