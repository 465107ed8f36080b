"""A job filter as SQL over `jobs j`."""

from __future__ import annotations

import json
import re

from duckrow.core.jobs.job_filter import NO_FAILURES, Filter
from duckrow.store.sqlite.database import to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    Condition = tuple[str, dict[str, Any]]  # SQL, and its values


_HAS_TEXT = "(j.command LIKE :text ESCAPE '\\' OR j.name LIKE :text ESCAPE '\\' OR j.project LIKE :text ESCAPE '\\')"
_HAS_TEXT_OR_ID = f"({_HAS_TEXT} OR j.id = :id_of_text)"
_HAS_STATUS = (
    "(j.state IN (SELECT value FROM json_each(:statuses)) OR j.outcome IN (SELECT value FROM json_each(:statuses)))"
)
_FAILED = f"j.state = 'done' AND j.outcome NOT IN {NO_FAILURES}"
_LIKE_SIGN = re.compile(r"[\\%_]")


def condition_of(filter: Filter, now: float) -> Condition:
    wanted: list[str] = ["1"]
    values: dict[str, Any] = {}

    def want(condition: str, **more: Any) -> None:
        wanted.append(condition)
        values.update(more)

    if filter.statuses:
        want(_HAS_STATUS, statuses=json.dumps(list(filter.statuses)))
    if filter.failed:
        want(_FAILED)
    if filter.project is not None:
        want("j.project = :project", project=to_sql(filter.project))
    if filter.name is not None:
        want("j.name GLOB :name", name=to_sql(filter.name))
    if filter.since_s is not None:
        want("j.created_at >= :created_after", created_after=now - filter.since_s)
    if filter.older_than_s is not None:
        want("j.created_at <= :created_before", created_before=now - filter.older_than_s)
    if filter.ids is not None:
        want("j.id IN (SELECT value FROM json_each(:ids))", ids=json.dumps(list(filter.ids)))
    if filter.sweep_id is not None:
        want("j.id IN (SELECT job_id FROM points WHERE sweep_id = :sweep_id)", sweep_id=filter.sweep_id)
    if "\0" in f"{filter.name or ''}{filter.text or ''}":
        want("0")  # no job has a NUL in its name or command, and SQLite would compare only what precedes it
    if filter.text:
        condition, more = _has_text(filter.text)
        want(condition, **more)
    if filter.not_of_hosts:
        hosts = json.dumps(list(filter.not_of_hosts))
        want("NOT (j.state = 'queued' AND j.host_id IN (SELECT value FROM json_each(:hosts)))", hosts=hosts)
    return " AND ".join(wanted), values


def _has_text(text: str) -> Condition:
    pattern = to_sql(f"%{_LIKE_SIGN.sub(_escaped, text)}%")
    if re.fullmatch(r"[0-9]{1,18}", text) is None:
        return _HAS_TEXT, {"text": pattern}
    return _HAS_TEXT_OR_ID, {"text": pattern, "id_of_text": int(text)}


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"
