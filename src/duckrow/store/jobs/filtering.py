"""A job filter as SQL over `jobs j`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from duckrow.core.jobs.job_filter import NO_FAILURES, Filter
from duckrow.core.life.states import Outcome, State
from duckrow.store.sqlite.database import to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

    Condition = tuple[str, dict[str, Any]]  # SQL, and its values


# A search reads all jobs, so what is cheap comes first: often no project has the text, and names are shorter than it.
_HAS_TEXT = (
    "(EXISTS (SELECT 1 FROM job_counts WHERE project LIKE {text}) AND j.project LIKE {text}"
    " OR length(j.name) >= :least_length AND j.name LIKE {text} OR j.command LIKE {text}{or_id})"
)
_HAS_MARK = {
    "held": "j.state = 'queued' AND j.held",
    "suspended": "j.state IN ('starting', 'running')"
    " AND j.id IN (SELECT job_id FROM wishes WHERE wish GLOB 'suspended:*')",
}
_FAILED = f"j.state = 'done' AND j.outcome NOT IN {NO_FAILURES}"
_LIKE_SIGN = re.compile(r"[\\%_]")


def condition_of(filter: Filter, now: float) -> Condition:
    wanted: list[str] = ["1"]
    values: dict[str, Any] = {}

    def want(condition: str, **more: Any) -> None:
        wanted.append(condition)
        values.update(more)

    if filter.statuses:
        want(_has_status(filter.statuses))
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


def _has_status(words: Sequence[str]) -> str:
    """Compares a job with no more than it must: with its state or its outcome, whichever has such words."""
    columns = (("state", set(State) & set(words)), ("outcome", set(Outcome) & set(words)))
    conditions = [f"j.{column} IN ({_quoted(wanted)})" for column, wanted in columns if wanted]
    conditions += [condition for mark, condition in _HAS_MARK.items() if mark in words]
    return f"({' OR '.join(conditions or ['0'])})"


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


def _has_text(text: str) -> Condition:
    escaped = _LIKE_SIGN.sub(_escaped, text)
    values: dict[str, Any] = {"text": to_sql(f"%{escaped}%"), "least_length": len(text)}
    is_id = re.fullmatch(r"[0-9]{1,18}", text) is not None
    if is_id:
        values["id_of_text"] = int(text)
    pattern = ":text" if escaped == text else ":text ESCAPE '\\'"
    return _HAS_TEXT.format(text=pattern, or_id=" OR j.id = :id_of_text" if is_id else ""), values


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"
