"""The columns of a job, each named once, like the fields of JobSpec, QueuedJob and ListedJob.

A new column is a field there and a migration (CONTRIBUTING.md, "A new column for a job"). The statements that write and
read jobs take their lists from here.
"""

from __future__ import annotations

from operator import attrgetter

from duckrow.core.jobs.editing import EDITABLE
from duckrow.core.jobs.job import JobSpec, QueuedJob
from duckrow.store.jobs.waiting import WAITING
from duckrow.store.sqlite.database import to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_KEPT_ELSEWHERE = frozenset({"not_before", "delay_s", "variables", "point", "slurm"})  # or in several columns

_CONVERTED = ("command", "cwd", "outfile", "folder", "needs")  # not stored in the form in which they are asked for
_PLAIN = tuple(name for name in JobSpec.__annotations__ if name not in {*_CONVERTED, *_KEPT_ELSEWHERE})

AS_ASKED = (*_CONVERTED, *_PLAIN)
"""Those that a person's request fills."""

OF_ITS_OWN = (
    *("id", "host_id", "environment_id", "array_id", "position", "created_at", "changed_at"),
    *("not_before", "not_before_boot", "not_before_boot_id"),
)
"""The other columns of a new job."""

ASKED_AGAIN = tuple(name for name in AS_ASKED if name not in ("held", "if_broken", "array_index"))
"""What counts when the job is submitted again: not how it had to wait."""


def _listed(names: tuple[str, ...], table: str = "") -> str:
    return ", ".join(f"{table}{name}" for name in names)


LISTS = {
    "new_columns": _listed((*AS_ASKED, *OF_ITS_OWN)),
    "new_values": ", ".join("?" * (len(AS_ASKED) + len(OF_ITS_OWN))),
    "asked_again": _listed(ASKED_AGAIN, "j."),
    "editable": _listed(EDITABLE),
    "queued_job": _listed(QueuedJob._fields, "j."),
    **WAITING,
}
"""What replaces the names in braces in the statements."""


_plain_values = attrgetter(*_PLAIN)


Stored = str | bytes | int | float | None


def as_asked_of(name: str, spec: JobSpec) -> Stored:
    """One of these values, as it is stored."""
    if name == "needs":
        return spec.needs.as_text()
    value: Stored = getattr(spec, name)
    return to_sql(value) if isinstance(value, str) and name in _CONVERTED else value


def as_asked(spec: JobSpec) -> tuple[Any, ...]:
    """The values of AS_ASKED, as they are stored."""
    return (*(as_asked_of(name, spec) for name in _CONVERTED), *_plain_values(spec))
