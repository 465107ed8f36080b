"""The columns of a job, each named once: they are called as the fields of JobSpec and QueuedJob are.

A new column is a field there and a migration. The statements that write and read jobs take their lists from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from duckrow.core.editing import EDITABLE
from duckrow.core.job import JobSpec, QueuedJob
from duckrow.core.needs import Needs
from duckrow.store.database import to_sql

_KEPT_ELSEWHERE = frozenset({"not_before", "delay_s", "variables", "point"})  # or in several columns

AS_ASKED = tuple(field.name for field in fields(JobSpec) if field.name not in _KEPT_ELSEWHERE)
"""Those that a person's request fills."""

OF_ITS_OWN = (
    *("id", "host_id", "environment_id", "array_id", "position", "created_at", "changed_at"),
    *("not_before", "not_before_boot", "not_before_boot_id"),
)
"""The others that a new job has."""

ASKED_AGAIN = tuple(name for name in AS_ASKED if name not in ("held", "if_broken", "array_index"))
"""What counts when it is asked for once more: not how it had to wait."""


def _listed(names: tuple[str, ...], table: str = "") -> str:
    return ", ".join(f"{table}{name}" for name in names)


LISTS = {
    "new_columns": _listed((*AS_ASKED, *OF_ITS_OWN)),
    "new_values": ", ".join("?" * (len(AS_ASKED) + len(OF_ITS_OWN))),
    "asked_again": _listed(ASKED_AGAIN, "j."),
    "editable": _listed(EDITABLE),
    "queued_job": _listed(QueuedJob._fields, "j."),
}
"""What the statements write in braces."""


def _text_or_none(value: str | None) -> Any:
    return None if value is None else to_sql(value)


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "command": to_sql,
    "cwd": to_sql,
    "outfile": _text_or_none,
    "folder": _text_or_none,
    "needs": Needs.as_text,
}
_BY_PLACE = [(AS_ASKED.index(name), convert) for name, convert in _CONVERTED.items()]
_values_of = attrgetter(*AS_ASKED)


def as_asked(spec: JobSpec) -> list[Any]:
    """The values of AS_ASKED, as they are stored."""
    values = list(_values_of(spec))
    for place, convert in _BY_PLACE:
        values[place] = convert(values[place])
    return values
