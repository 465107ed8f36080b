"""Which jobs a `select` means: a query like that of GET /jobs, but no word may be empty.

A list without a filter shows all jobs, which is harmless. An action without one would kill the whole queue, perhaps
because a variable in a script was not set. So here every word must have a value, and only `all=true` means all jobs.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from duckrow.api.client import Client
from duckrow.api.jobs.actions import MOST_JOBS
from duckrow.api.queue.listing import matching_ids
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.web.routes.jobs.show_jobs import filter_of

_BY = ("status", "project", "sweep", "q", "name", "since", "older_than", "failed")
_HOW = "Write 'select' as the query of GET /jobs, like status=failed&project=thesis, or all=true for all jobs."
_YES = ("true", "1")


def selected_ids(client: Client, query: str) -> list[int]:
    ids = matching_ids(client, _filter(client, query), MOST_JOBS + 1)
    if len(ids) > MOST_JOBS:
        raise UsageError(f"More than {MOST_JOBS} jobs match. Select fewer at a time. Nothing was done.")
    return ids


def _filter(client: Client, query: str) -> Filter:
    words = parse_qs(query.strip().removeprefix("?"), keep_blank_values=True)
    _check(words)
    if "all" in words:
        return Filter()
    statuses = words.pop("status", [])
    named: dict[str, Any] = {name: values[-1] for name, values in words.items()}
    if "failed" in named:
        named["failed"] = named["failed"] in _YES
    wanted = filter_of(client, statuses, **named)
    if wanted == Filter(statuses=wanted.statuses) and not wanted.statuses:
        raise UsageError(f"'select' does not say which jobs. {_HOW}")
    return wanted


def _check(words: dict[str, list[str]]) -> None:
    if not words:
        raise UsageError(f"'select' does not say which jobs. {_HOW}")
    unknown = set(words) - {"all", *_BY}
    if unknown:
        raise UsageError(f"Jobs cannot be selected by '{min(unknown)}'. Choose from: {', '.join(_BY)}, all.")
    for name, values in words.items():
        if not all(value.strip(" ,") for value in values):
            raise UsageError(f"'{name}=' is empty in 'select'. Nothing was done. {_HOW}")
    if "all" in words and words["all"] != ["true"]:
        raise UsageError(f"'all={words['all'][-1]}' does not say which jobs. {_HOW}")
    if "all" in words and len(words) > 1:
        raise UsageError("Use all=true alone in 'select', or omit it.")
