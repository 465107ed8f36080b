"""What failed jobs said last, each error once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from duckrow.api.log_ends import last_lines
from duckrow.api.views import JobView
from duckrow.cli.console import clean, paint, say
from duckrow.cli.job_table import exit_text, status_of
from duckrow.core.failure import compact_ids, essence
from duckrow.core.units import plural

LOOKED_AT = 20_000  # failed jobs whose logs are read, the newest
_IDS_SHOWN = 60


def error_groups(views: Sequence[JobView], lines: int) -> list[dict[str, Any]]:
    """The jobs by what went wrong, the most frequent first. An error is shown as its first job has told it."""
    groups: dict[tuple[str, str], list[JobView]] = {}
    said: dict[tuple[str, str], list[str]] = {}
    for view in views:
        end = last_lines(view.log, lines) if view.log else []
        error = end[-1] if end else view.detail
        key = (status_of(view), essence(error))
        groups.setdefault(key, []).append(view)
        said.setdefault(key, end or [error or "(it has said nothing)"])
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


def print_errors(groups: Sequence[dict[str, Any]]) -> None:
    for number, group in enumerate(groups):
        if number:
            print()
        codes = f" (exit {', '.join(group['exit'])})" if group["exit"] else ""
        ids = compact_ids(group["ids"])
        listed = ids if len(ids) <= _IDS_SHOWN else f"{ids[:_IDS_SHOWN].rsplit(',', 1)[0]},…"
        print(paint(f"{plural(group['count'], 'job')} {group['outcome']}{codes}: {listed}", "bold", sys.stdout))
        for line in group["lines"]:
            print(f"  | {clean(line)}")
        print(f"  again: {group['rerun']}")


def say_totals(groups: Sequence[dict[str, Any]], left_out: int) -> None:
    jobs = sum(group["count"] for group in groups)
    if not jobs:
        say("No job has failed.")
        return
    more = f" {left_out} older ones were not looked at." if left_out else ""
    say(f"{plural(jobs, 'job')} did not succeed, with {plural(len(groups), 'error')}.{more}")
