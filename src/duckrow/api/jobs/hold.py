"""Hold and release: held jobs do not start until they are released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import apart, told
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance


def hold(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _set_held(client, ids, held=True)


def release(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _set_held(client, ids, held=False)


def set_held(client: Client, ids: Sequence[int], held: bool) -> list[int]:
    """Hold or release jobs; returns those that were queued, the only ones that can be."""
    here, away = apart(client, ids)
    changed = _set_held_away(client, away, held) if away else []
    return told(client, ControlStore(client.database).set_held(here, held) + changed)


def _set_held(client: Client, ids: Sequence[int], held: bool) -> Changed[Glance]:
    changed = glance_at(client, ids)
    changed.done = set_held(client, list(changed.before), held)
    changed.refuse_started()
    done = set(changed.done)
    were_not = [job.id for job in changed.jobs if job.id in done and job.held != held]
    if were_not:
        changed.undo = {"action": "release" if held else "hold", "ids": were_not}
    return changed


def _set_held_away(client: Client, ids: Sequence[int], held: bool) -> list[int]:
    wishes = client.batch_wishes
    return wishes.hold(ids) if held else wishes.release(ids)
