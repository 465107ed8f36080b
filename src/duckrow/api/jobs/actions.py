"""The verbs by name, for the web page, applied to one job or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from duckrow.api.jobs.changed import Changed
from duckrow.api.jobs.edit import edit_words
from duckrow.api.jobs.hold import hold, release
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.order import move_before, move_first, move_last, place, prioritise
from duckrow.api.jobs.pause import pause, resume
from duckrow.api.jobs.remove import remove
from duckrow.api.jobs.rerun import rerun
from duckrow.core.errors import UsageError

if TYPE_CHECKING:
    from duckrow.api.client import Client

MOST_JOBS = 10_000

_PLAIN: dict[str, Callable[[Client, Sequence[int]], Changed[Any]]] = {
    "hold": hold,
    "release": release,
    "pause": pause,
    "resume": resume,
    "remove": remove,
    "first": move_first,
    "last": move_last,
}


def act(
    client: Client,
    action: str,
    ids: Sequence[int],
    *,
    priority: int | None = None,
    before: int | None = None,
    changes: Mapping[str, Any] | None = None,
    places: Sequence[tuple[int, int, float]] = (),
    now: bool = False,
) -> Changed[Any]:
    """`now`: kill without grace time."""
    if len(ids) > MOST_JOBS:
        raise UsageError(f"{len(ids)} jobs are too many for one request: at most {MOST_JOBS}. Nothing was done.")
    if action == "priority":
        return prioritise(client, ids, _needed(action, priority))
    if action == "before":
        return move_before(client, ids, _needed(action, before))
    if action == "rerun":
        return rerun(client, ids, edit_words(changes or {}))
    if action == "place":
        return place(client, ids, places)
    if action == "kill":
        return kill(client, ids, at_once=now)
    return _PLAIN[action](client, ids)


def _needed(action: str, value: int | None) -> int:
    if value is None:
        raise UsageError(f'\'{action}\' needs a number: {{"action": "{action}", "{action}": 7, ...}}.')
    return value
