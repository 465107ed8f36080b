"""Groups failed jobs by the end of their logs, each error once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.listing import listing
from duckrow.api.queue.views import JobView, exit_text
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.failures import compact_ids, essence
from duckrow.kernel.log_ends import LINE_SHOWN, last_lines

LOOKED_AT = 20_000  # how many failed jobs' logs are read, newest first


def errors_of(client: Client, failed: Filter, lines: int) -> tuple[list[dict[str, Any]], int]:
    """The errors of the jobs that match, and how many older ones were not checked."""
    views = listing(client, failed, -1, sort="id")
    left_out = max(len(views) - LOOKED_AT, 0)
    return error_groups(views[left_out:], lines), left_out


def error_groups(views: Sequence[JobView], lines: int) -> list[dict[str, Any]]:
    """The jobs by what went wrong, the most frequent first. An error is shown as in the log of its first job."""
    groups: dict[tuple[str, str], list[JobView]] = {}
    said: dict[tuple[str, str], list[str]] = {}
    for view in views:
        end = last_lines(view.log, lines, longest=LINE_SHOWN) if view.log else []
        error = end[-1] if end else view.detail
        key = (view.outcome or view.state, essence(error))
        groups.setdefault(key, []).append(view)
        said.setdefault(key, end or [error or "(no output)"])
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1][0].id))
    return [
        {
            "error": said[key][-1],
            "outcome": key[0],
            "exit": sorted({exit_text(view.exit_code, view.signal) for view in members} - {""}),
            "count": len(members),
            "ids": [view.id for view in members],
            "lines": said[key],
            "rerun": f"duckrow rerun {compact_ids(view.id for view in members)}",
        }
        for key, members in ordered
    ]
