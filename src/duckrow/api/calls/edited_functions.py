"""Finds runs of a sweep whose function was edited, so that they run again."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.api.calls.function_code import Code, what_changed
from duckrow.api.calls.functions import code_of_call, code_of_result
from duckrow.api.sweeps.sweeps import Todo
from duckrow.core.life.states import Outcome
from duckrow.store.sweeps import PointJob


def find_edited(todo: Todo, rows: Iterable[PointJob], now: Code) -> None:
    """Move them from the succeeded runs to those that run again; `rows`: all runs."""
    for row in rows:
        job_id = row.job_id
        if job_id not in todo.points:
            continue  # not wanted this time
        if row.outcome == Outcome.SUCCEEDED:
            changed = what_changed(code_of_result(row.folder), now)
            if changed:
                todo.succeeded -= 1
                todo.again.append(job_id)
                todo.edited[job_id] = changed
        elif job_id in todo.busy and what_changed(code_of_call(row.folder), now):
            todo.outdated.append(job_id)
