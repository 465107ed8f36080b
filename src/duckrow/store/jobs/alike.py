"""Adds many jobs that have most of their columns in common. Each value that they share is handed to SQLite only once.

To hand over all thirty columns of each job takes four times as long as to write the jobs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from operator import attrgetter

from duckrow.core.jobs.job import JobSpec
from duckrow.store.jobs.columns import AS_ASKED, OF_ITS_OWN, as_asked_of
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("alike")

_OWN = ("command", "name", "outfile", "folder", "array_index", "needs", "variables", "point", "slurm")
_OWN_COLUMNS = tuple(name for name in _OWN if name in AS_ASKED)
_in_common = attrgetter(*(name for name in JobSpec.__annotations__ if name not in _OWN))

_AT_ONCE = 5_000  # jobs
_LONGEST = 100_000_000  # characters that are handed over at once

_COUNTED = {"id": ":id + own.key", "position": ":position + own.key"}


def alike(specs: Sequence[JobSpec]) -> Iterator[Sequence[JobSpec]]:
    """In order, neighbours that differ only in what `insert_alike` can hand over for each."""
    for _, group in groupby(specs, _in_common):
        while some := list(islice(group, _AT_ONCE)):
            yield some


def insert_alike(
    database: Database, first_row: Sequence[Any], specs: Sequence[JobSpec], environment_of: Callable[[JobSpec], int]
) -> bool:
    """Within the caller's transaction. `first_row`: that of the first of them. False: they must be added one by one."""
    own = {name: [as_asked_of(name, spec) for spec in specs] for name in _OWN_COLUMNS if _differ(specs, name)}
    if _differ(specs, "variables"):
        own["environment_id"] = [environment_of(spec) for spec in specs]
    text = _as_json(list(own.values()), len(specs))
    if text is None:
        return False
    names = (*AS_ASKED, *OF_ITS_OWN)
    value_of = {**{name: f":{name}" for name in names}, **_COUNTED, **_read_from_json(list(own))}
    statement = _SQL["insert"].format(columns=", ".join(names), values=", ".join(value_of[name] for name in names))
    database.execute(statement, {**dict(zip(names, first_row, strict=True)), "own": text})
    return True


def _differ(specs: Sequence[JobSpec], name: str) -> bool:
    values = list(map(attrgetter(name), specs))
    return values.count(values[0]) < len(values)


def _as_json(columns: list[list[Any]], jobs: int) -> str | None:
    """A value for each job, or a list of values if there are several columns; None: JSON cannot say it."""
    values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)) if columns else [None] * jobs
    try:
        text = json.dumps(values, ensure_ascii=False)
    except TypeError:
        return None  # bytes: text that is not UTF-8
    return None if len(text) > _LONGEST or "\\u0000" in text else text


def _read_from_json(names: list[str]) -> dict[str, str]:
    if len(names) == 1:
        return {names[0]: "own.value"}
    return {name: f"json_extract(own.value, '$[{at}]')" for at, name in enumerate(names)}
