"""What a sweep would run: looks for the sweep, and writes nothing, not even the state folder."""

from __future__ import annotations

import os
from collections.abc import Sequence

from duckrow.api.client import Client
from duckrow.api.sweeps.sweeps import Sweeps, Todo
from duckrow.core.jobs.job import JobSpec, check_name
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.sweeps.sweep import Point
from duckrow.store.folder.state_folder import existing_folder
from duckrow.store.jobs.requests import asked_for
from duckrow.store.sweeps import SweepRow


class SweepPreview(NamedTuple):
    sweep: SweepRow | None  # None: it would be new
    todo: Todo
    earlier: Sequence[JobSpec] = ()  # jobs that would run again, as they are; the older ones first


def preview_sweep(pattern: str, project: str, name: str, root: str, points: Sequence[Point]) -> SweepPreview:
    if name:
        check_name("sweep", name)
    folder = existing_folder()
    if not os.path.exists(folder.database):
        return SweepPreview(None, Todo(list(points)))
    with Client(folder) as client:
        sweeps = Sweeps(client)
        found = sweeps.find(pattern, project, name, root)
        if found is None:
            return SweepPreview(None, Todo(list(points)))
        todo = sweeps.todo(found, points)
        again = asked_for(client.database, [*todo.again, *todo.stranded])
        return SweepPreview(found, todo, [job.spec for job in again])
