"""Jobs as a tree: each below the one that it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from duckrow.api.queue.views import JobView


def as_tree(views: Sequence[JobView], edges: Iterable[tuple[int, int]]) -> list[JobView]:
    """The jobs in tree order, with indented names. `edges` are (job, job that it waits for).

    A job that waits for several is shown below the last of them.
    """
    shown = {view.id: view for view in views}
    parents: dict[int, int] = {}
    for job_id, on_job_id in edges:
        if job_id in shown and on_job_id in shown:
            parents[job_id] = max(on_job_id, parents.get(job_id, 0))
    children: dict[int, list[int]] = {}
    for job_id, parent in parents.items():
        children.setdefault(parent, []).append(job_id)
    lines: list[JobView] = []
    todo = [(view.id, 0) for view in reversed(views) if view.id not in parents]
    while todo:
        job_id, depth = todo.pop()
        view = shown[job_id]
        lines.append(replace(view, name="  " * (depth - 1) + "└ " + view.name) if depth else view)
        todo += [(child, depth + 1) for child in sorted(children.get(job_id, []), reverse=True)]
    return lines
